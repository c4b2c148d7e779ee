import { FENCED_LABEL, NUDGE_ANNOTATION, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { parseRecord } from '../../fencing/model/record.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import type { NodeObject } from '../../sandbox/cluster/objects.ts';
import type { Volume } from '../../sandbox/ec2/state.ts';
import { volumeIn } from '../../sandbox/ec2/state.ts';

/**
 * The world as people see it: which disk is attached where, which pod runs where, and what Cloudfence has left behind.
 * Without uids and times.
 */
export const stateOf = (world: AwsWorld) => ({
  disks: disksIn(world),
  pods: sorted(
    listObjects(world, 'pods').map(
      (pod) =>
        `${pod.metadata.name} ${pod.status.phase} on ${pod.spec.nodeName ?? 'no node'}${pod.metadata.deletionTimestamp ? ' going' : ''}`,
    ),
  ),
  attachments: sorted(
    listObjects(world, 'volumeattachments').map(
      ({ spec, status, metadata }) =>
        `${spec.source.persistentVolumeName} to ${spec.nodeName} ${status.attached ? 'attached' : 'not attached'}${metadata.deletionTimestamp ? ' going' : ''}${metadata.annotations?.[NUDGE_ANNOTATION] ? ' nudged' : ''}`,
    ),
  ),
  nodes: sorted(listObjects(world, 'nodes').map(nodeLine)),
  violations: world.parts.ec2.violations,
});

const sorted = (lines: readonly string[]): readonly string[] => lines.toSorted((a, b) => a.localeCompare(b));

const disksIn = (world: AwsWorld): readonly string[] =>
  sorted(
    Object.keys(world.parts.ec2.volumes)
      .map((id) => volumeIn(world, id))
      .filter((volume) => volume !== undefined)
      .map(
        (volume: Volume) =>
          `${volume.id} at ${volume.attachments.map(({ instance, state }) => `${instance} ${state}`).join(', ') || 'nobody'}`,
      ),
  );

const ours = ['node.kubernetes.io/out-of-service', 'cloudfence.dev/quarantine'];

const labelIn = (value: string): string =>
  value.includes('_removed_') ? ' tombstone' : value === '' ? '' : ' labelled';

const nodeLine = ({ metadata, spec }: NodeObject): string => {
  const taints = (spec.taints ?? []).map(({ key }) => key).filter((key) => ours.includes(key));
  const record = parseRecord(metadata.annotations?.[RECORD_ANNOTATION] ?? '');
  const label = labelIn(metadata.labels?.[FENCED_LABEL] ?? '');
  return `${metadata.name} [${taints.join(', ')}]${record ? ` ${record.phase}` : ''}${label}`;
};
