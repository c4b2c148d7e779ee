import { describe, expect, it } from 'vitest';
import type { Ports } from '../../fencing/loop/ports.ts';
import { run } from '../../fencing/loop/run.ts';
import { parseRecord, type FenceRecord } from '../../fencing/model/record.ts';
import { RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import type { NodeObject } from '../../sandbox/cluster/objects.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { AFTERMATH_MS, fence } from './ends.ts';
import { type Incident, stopped } from './incidents.ts';
import { freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { diedAfterMark } from './walk.ts';

/**
 * Tenants and kubelets write names that no object can have. In the path of a request, such a name would lead to another
 * object.
 */

const IMPOSSIBLE: readonly (readonly [string, string])[] = [
  ['..', '..'],
  ['.', '.'],
  ['data/status', 'data/status'],
  ['half of a character', '\uD800'],
  ['100 kB', 'x'.repeat(100_000)],
];

const nodeIn = ({ world, scene }: Incident) => getObject(world, 'nodes', scene.nodeOf(scene.holder));

/** The database runs on the other machine, with its disk. */
const expectRecovered = ({ world, scene }: Incident): void => {
  world.advance(AFTERMATH_MS);
  const { disks, pods, violations } = stateOf(world);
  expect(violations).toEqual([]);
  expect(disks).toContain(`${scene.volume} at ${scene.spare} attached`);
  expect(pods).toContain(`db-0 Running on ${scene.nodeOf(scene.spare)}`);
};

it.each(IMPOSSIBLE)('a tenant’s pod with the claim %s does not delay a fence', async (_, claimName) => {
  const incident = stopped();
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName } }];
  const nodeName = incident.scene.nodeOf(incident.scene.holder);
  addBarePod(incident.world, { name: 'tenant', spec: { nodeName, volumes } });
  expect(await fence(incident)).toMatchObject({ outcome: 'fenced' });
  expectRecovered(incident);
});

it.each(IMPOSSIBLE)('a tenant’s claim that is bound to %s does not delay a fence', async (_, volumeName) => {
  const incident = stopped();
  const { world, scene } = incident;
  writerAs(world, 'tenant').create('persistentvolumeclaims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'tenant', namespace: 'default' },
    spec: { volumeName },
    status: { phase: 'Pending' },
  });
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'tenant' } }];
  addBarePod(world, { name: 'tenant', spec: { nodeName: scene.nodeOf(scene.holder), volumes } });
  expect(await fence(incident)).toMatchObject({ outcome: 'fenced' });
  expectRecovered(incident);
});

const recordOn = (node: NodeObject | undefined): FenceRecord => {
  const record = parseRecord(node?.metadata.annotations?.[RECORD_ANNOTATION] ?? '');
  if (!record) throw new Error('there is no record');
  return record;
};

/** During the fence, the kubelet writes into the record on its own Node. */
const kubeletWrites = (incident: Incident, edit: (record: FenceRecord) => FenceRecord): void => {
  const node = nodeIn(incident);
  const text = JSON.stringify(edit(recordOn(node)));
  if (!node) return;
  writerAs(incident.world, 'kubelet').change('nodes', node, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, [RECORD_ANNOTATION]: text };
  });
};

describe.each(IMPOSSIBLE)('with the name %s in the record', (_, name) => {
  it('the name of a PersistentVolume does not stop the fence', async () => {
    const incident = await diedAfterMark();
    kubeletWrites(incident, (record) => ({
      ...record,
      volumes: [
        ...record.volumes.map((volume) => ({ ...volume, persistentVolume: name })),
        { driver: 'ebs.csi.aws.com', handle: 'vol-0', persistentVolume: name, attachment: name },
      ],
    }));
    expect(await fence(incident, { runId: 'event' })).toMatchObject({ outcome: 'fenced' });
    expectRecovered(incident);
  });

  it('the name of the Node does not stop the fence after someone has deleted the Node', async () => {
    const incident = await diedAfterMark();
    const { world, scene } = incident;
    kubeletWrites(incident, (record) => ({ ...record, node: name, nodeUid: name }));
    const ports = portsOver(world);
    const observe: Ports['observe'] = ({ do: command }) => {
      const node = nodeIn(incident);
      if (command === 'act' && node) writerAs(world, 'person').remove('nodes', node);
    };
    const outcome = await run(freshRun(world, ports, { machine: scene.holder }), { ...ports, observe });
    expect(outcome).toMatchObject({ outcome: 'fenced', node: scene.nodeOf(scene.holder) });
    expect(nodeIn(incident)).toBeUndefined();
    expectRecovered(incident);
  });

  it('the name of a pod does not stop the fence', async () => {
    const incident = await diedAfterMark();
    kubeletWrites(incident, (record) => ({ ...record, pods: record.pods.map((pod) => ({ ...pod, name })) }));
    incident.world.advance(AFTERMATH_MS);
    expect(await fence(incident, { runId: 'event' })).toMatchObject({ outcome: 'fenced' });
    expectRecovered(incident);
  });
});
