import { parseRecord } from '../../fencing/model/record.ts';
import { RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { withCondition } from '../../sandbox/cluster/controllers/pods.ts';
import { timestamp } from '../../sandbox/cluster/controllers/times.ts';
import { addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { put } from '../../sandbox/history.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addVolume, shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { addMachine } from '../../sandbox/scenes/ec2-database.ts';
import { stopMachine } from '../simulation/incidents.ts';

/** A machine that holds one disk of a database, and its Node. */
export interface Holder {
  readonly machine: string;
  readonly node: string;
  readonly volume: string;
}

/**
 * Creates this many databases with one disk each, on as many machines and a spare one. They do not wait for each other,
 * as the ordinals of one database would.
 */
export const holdersIn = (world: AwsWorld, count: number): readonly Holder[] => {
  for (let machine = 0; machine <= count; machine += 1) addMachine(world);
  settle(world);
  const volumes = Array.from({ length: count }, () => addVolume(world));
  volumes.forEach((handle, ordinal) =>
    addStatefulSet(world, {
      name: `shop-${ordinal}`,
      disks: [{ driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' }],
    }),
  );
  settle(world);
  const machines = volumes.map((volume) => holderOf(world, volume));
  if (new Set(machines).size < count) throw new Error(`two disks are on one machine: ${machines.join(', ')}`);
  return volumes.map((volume, ordinal) => {
    const machine = machines[ordinal] ?? '';
    return { machine, volume, node: instanceIn(world, machine)?.privateDnsName ?? '' };
  });
};

const holderOf = (world: AwsWorld, volume: string): string =>
  volumeIn(world, volume)?.attachments.find(({ state }) => state === 'attached')?.instance ?? '';

interface Tags {
  readonly instances: Readonly<Record<string, string>>;
  readonly volumes: Readonly<Record<string, string>>;
}

/** Gives all existing resources these tags, and no others. */
export const tagAll = (world: AwsWorld, tags: Tags): void => {
  const { instances } = world.parts.ec2;
  for (const { present } of Object.values(instances))
    if (present) put(instances, present.id, { ...present, tags: tags.instances });
  tagVolumes(world, tags.volumes);
};

/** The machines keep their tags, because a machine outside all clusters must not become one of this cluster. */
export const tagVolumes = (world: AwsWorld, tags: Tags['volumes']): void => {
  const { volumes } = world.parts.ec2;
  for (const { present } of Object.values(volumes)) if (present) put(volumes, present.id, { ...present, tags });
};

/** Requests the stop of a machine, which takes this long (ms). */
export const stopIn = (world: AwsWorld, { machine }: Holder, ms: number): void => {
  shutdownTakes(world, machine, ms);
  stopMachine(world, machine);
};

const LONG_MS = 10 * 60_000;

/** The kubelet's last sign of life was ten minutes ago. */
export const ageLease = (world: AwsWorld, { node }: Holder): void => {
  const lease = getObject(world, 'leases', node, 'kube-node-lease');
  if (lease)
    writerAs(world, 'admin').change(
      'leases',
      lease,
      (draft) => void (draft.spec.renewTime = timestamp(world.now() - LONG_MS)),
    );
};

/** The machine continues to run, but its Lease and its Node show ten minutes of silence. */
export const silence = (world: AwsWorld, holder: Holder): void => {
  const { node: name } = holder;
  const { partitioned } = world.parts.cluster.knobs;
  if (partitioned.includes(name)) return;
  partitioned.push(name);
  ageLease(world, holder);
  const node = getObject(world, 'nodes', name);
  if (!node) throw new Error(`there is no Node ${name}`);
  const silent = withCondition(node.status.conditions, { type: 'Ready', status: 'Unknown' }, world.now() - LONG_MS);
  writerAs(world, 'admin').change('nodes', node, (draft) => void (draft.status.conditions = silent));
};

/** Someone deletes the Node, so that it no longer counts as out of reach. */
export const deleteNode = (world: AwsWorld, { node: name }: Holder): void => {
  const node = getObject(world, 'nodes', name);
  if (node) writerAs(world, 'admin').remove('nodes', node);
};

export const stateChange = (machine: string, state: string) => ({
  'detail-type': 'EC2 Instance State-change Notification',
  source: 'aws.ec2',
  detail: { 'instance-id': machine, state },
});

/** The state of a fence: the phase in the record on the Node, and whether another machine has the disk. */
export interface FenceState {
  readonly phase: string | null;
  readonly diskMoved: boolean;
}

export const fenceStateOf = (world: AwsWorld, { machine, node, volume }: Holder): FenceState => {
  const annotation = getObject(world, 'nodes', node)?.metadata.annotations?.[RECORD_ANNOTATION] ?? '';
  const at = holderOf(world, volume);
  return { phase: parseRecord(annotation)?.phase ?? null, diskMoved: at !== '' && at !== machine };
};

export const fenceIdOf = (world: AwsWorld, { node }: Holder): string =>
  parseRecord(getObject(world, 'nodes', node)?.metadata.annotations?.[RECORD_ANNOTATION] ?? '')?.fence ?? '';

export const fencedAndMoved = { phase: 'fenced', diskMoved: true } as const;
