import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STRATEGIC } from '../../testbed/api.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { openGates } from '../faults/gates.ts';
import { inOtherWords, inState } from '../faults/other-words.ts';
import type { LonePodScene } from '../scenes/lone.ts';
import { openLone } from '../scenes/lone.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** Sets the status of the Node from now on. */
const says = ({ nodePath }: LonePodScene, status: object) =>
  testbed.admin.write('PATCH', `${nodePath}/status`, { status }, STRATEGIC);

const ready = (status: 'True' | 'False') => ({
  conditions: [
    { type: 'Ready', status, lastHeartbeatTime: new Date().toISOString(), reason: 'Test', message: 'told by the test' },
  ],
});

const anotherBoot = { nodeInfo: { bootID: 'another' } };

const renewLease = ({ home }: LonePodScene) =>
  testbed.admin.write('PATCH', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${home.name}`, {
    spec: { renewTime: new Date().toISOString().replace('Z', '000Z') },
  });

/** A fenced machine runs again, and its Node has come this far. */
const halves: readonly {
  readonly what: string;
  readonly comes: (lone: LonePodScene) => Promise<unknown>;
  readonly reason: RegExp;
}[] = [
  {
    what: 'its rebooted Node is not Ready',
    comes: async (lone) => [await says(lone, { ...anotherBoot, ...ready('False') }), await renewLease(lone)],
    reason: /is not Ready yet$/,
  },
  {
    what: 'its rebooted Node has an old Lease',
    comes: (lone) => says(lone, { ...anotherBoot, ...ready('True') }),
    reason: /has not renewed its Lease recently$/,
  },
  {
    what: 'its Node is Ready under its old boot',
    comes: async (lone) => [await says(lone, ready('True')), await renewLease(lone)],
    reason: /still shows the boot that was fenced$/,
  },
];

describe.concurrent('a fence stays although the machine runs again, as long as', () => {
  const openFenced = async (): Promise<LonePodScene> => {
    const lone = await openLone(testbed, 'not-back');
    await lone.home.stop();
    expect((await cloudfence(testbed.access, 'fence', lone.home.instance)).says.outcome).toBe('fenced');
    await lone.home.power();
    return lone;
  };

  it.for(halves)('$what', async ({ comes, reason }) => {
    const lone = await openFenced();
    const before = await lone.seen();
    await comes(lone);
    const { says: answer } = await cloudfence(testbed.access, 'release', lone.home.name, '--timeout', '20s');
    expect(answer).toMatchObject({ outcome: 'waiting', reason: expect.stringMatching(reason), steps: [] });
    expect(await lone.seen()).toEqual(before);
  });

  it('EC2 still says that it is pending, whatever its Node says', async () => {
    const [lone, gates] = await Promise.all([openFenced(), openGates(testbed.access)]);
    const before = await lone.seen();
    await lone.home.kubelet.boot();
    gates.handle(inOtherWords(inState(0, 'pending')));
    const { says: answer } = await cloudfence(gates.access, 'release', lone.home.name, '--timeout', '20s');
    expect(answer).toMatchObject({
      outcome: 'waiting',
      reason: expect.stringMatching(/the cloud says that the machine is starting, not running$/),
      steps: [],
    });
    expect(await lone.seen()).toEqual(before);
    await gates.close();
  });
});
