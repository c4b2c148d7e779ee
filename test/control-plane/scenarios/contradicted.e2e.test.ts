import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { node as nodeSchema } from '../../testbed/objects.ts';
import { cloudfence } from '../entry-points/programs.ts';
import type { LonePodScene } from '../scenes/lone.ts';
import { openLone } from '../scenes/lone.ts';

const RECORD = 'cloudfence.dev/fence';
const FORGED = 'forged.1';
const LABEL = { 'cloudfence.node-restriction.kubernetes.io/fenced': FORGED };
const ANOTHER = 'i-0123456789abcdef0';

/** A run that began by mistake would wait for its end for a long time. */
const ENDS = ['--timeout', '60s'] as const;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** A fence of this boot. Anyone who has seen a fence can write one like it. */
const forged = async ({ home, nodePath }: LonePodScene, changes: object = {}): Promise<object> => {
  const { metadata, status } = nodeSchema.parse(await testbed.admin.get(nodePath));
  const named = {
    cloud: 'aws',
    machine: home.instance,
    generation: null,
    node: home.name,
    nodeUid: metadata.uid,
    bootID: status.nodeInfo.bootID,
    lease: null,
  };
  const times = { begun: new Date().toISOString(), released: null };
  return {
    [RECORD]: JSON.stringify({
      version: 1,
      fence: FORGED,
      phase: 'fenced',
      ...named,
      outOfService: 'foreign',
      ...times,
      evidence: {},
      volumes: [],
      pods: [],
      ...changes,
    }),
  };
};

/** What is on the Node when its machine is found off. No kubelet can write the label. */
const doubts: readonly {
  readonly what: string;
  readonly reason: string;
  readonly metadata: (lone: LonePodScene) => Promise<object>;
}[] = [
  {
    what: 'the id of another instance',
    reason: 'identity-contradicted',
    metadata: async () => ({ annotations: { 'cloudfence.dev/instance-id': ANOTHER } }),
  },
  {
    what: 'the record of a fence without our label',
    reason: 'record-not-ours',
    metadata: async (lone) => ({ annotations: await forged(lone) }),
  },
  {
    what: 'an unreadable record',
    reason: 'record-unreadable',
    metadata: async () => ({ annotations: { [RECORD]: '{"version":' }, labels: LABEL }),
  },
  {
    what: 'the record of a fence of another machine',
    reason: 'record-of-another-machine',
    metadata: async (lone) => ({ annotations: await forged(lone, { machine: ANOTHER }), labels: LABEL }),
  },
];

describe.concurrent('a machine that is off is not fenced if', () => {
  it.for(doubts)('its Node has $what', async ({ reason, metadata }) => {
    const lone = await openLone(testbed, 'doubt');
    const { home, nodePath, seen } = lone;
    await testbed.admin.write('PATCH', nodePath, { metadata: await metadata(lone) });
    const before = await seen();
    await home.stop();
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance, ...ENDS);
    expect({ code, reason: says.reason.split(':')[0], steps: says.steps }).toEqual({ code: 4, reason, steps: [] });
    expect(await seen()).toEqual(before);
    await testbed.admin.write('DELETE', nodePath);
  });

  it('two Nodes name it', async () => {
    const { home, nodePath, seen, scene } = await openLone(testbed, 'twins', { name: `first-of-${process.pid}` });
    const { spec, metadata } = nodeSchema.parse(await testbed.admin.get(nodePath));
    const second = `second-of-${scene.namespace}`;
    await testbed.admin.write('POST', '/api/v1/nodes', {
      metadata: { name: second, annotations: metadata.annotations },
      spec: { providerID: spec['providerID'] },
    });
    const before = await seen();
    await home.stop();
    const { says } = await cloudfence(testbed.access, 'fence', home.instance, ...ENDS);
    expect(says).toMatchObject({ outcome: 'refused', reason: expect.stringMatching(/^identity-ambiguous/), steps: [] });
    expect(await seen()).toEqual(before);
    await testbed.admin.write('DELETE', `/api/v1/nodes/${second}`);
  });

  it('the Lease of its kubelet is dated later than that, and is renewed again', async () => {
    const { home, seen } = await openLone(testbed, 'late-lease');
    const before = await seen();
    await home.stop();
    const kubelet = testbed.admin.as(`system:node:${home.name}`, 'system:nodes');
    const renew = () =>
      kubelet.write('PATCH', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${home.name}`, {
        spec: { renewTime: new Date(Date.now() + 60_000).toISOString().replace('Z', '000Z') },
      });
    await renew();
    const answering = cloudfence(testbed.access, 'fence', home.instance, ...ENDS);
    const renewing = setInterval(() => void renew(), 2_000);
    const { says } = await answering.finally(() => clearInterval(renewing));
    expect(says).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(/^lease-renewed-after-off/),
      steps: [],
    });
    expect(await seen()).toEqual(before);
  });
});
