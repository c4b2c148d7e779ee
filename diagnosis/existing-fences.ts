import type { Cluster } from '../fencing/model/cluster.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import { STALE_LEASE_MS } from '../fencing/loop/ports.ts';
import { ifFound } from './model/facts.ts';
import { type SearchPorts, refuseUnread } from './machine-candidates.ts';
import type { DiagnosedCluster } from './ports.ts';
import { parseNamedTarget, type NamedTarget, targetInWords } from './target.ts';

/** Lists the fences of the clusters, and finds the one that a name leads to. */

export interface ExistingFence {
  readonly cluster: string;
  readonly node: string;
  /** Null if the record cannot be read. */
  readonly record: FenceRecord | null;
  readonly machine: MachineId | null;
}

const fencesIn = async (
  { name, suspects }: Pick<Cluster, 'name' | 'suspects'>,
  signal: AbortSignal,
): Promise<readonly ExistingFence[]> => {
  const fenced = (await suspects(STALE_LEASE_MS, signal)).filter(({ because }) => because === 'fenced');
  return fenced.map(({ node, record }) => ({ cluster: name, node, record, machine: record?.machine ?? null }));
};

/** Returns all fences of all clusters. @throws CloudfenceError if a cluster does not answer */
export const listFences = async (
  clusters: readonly Pick<Cluster, 'name' | 'suspects'>[],
  signal: AbortSignal,
): Promise<readonly ExistingFence[]> =>
  (await Promise.all(clusters.map((cluster) => fencesIn(cluster, signal)))).flat();

type IsAbout = (fence: ExistingFence) => boolean;

type Volume = FenceRecord['volumes'][number];

const recordNames =
  (wanted: (volume: Volume) => boolean): IsAbout =>
  ({ record }) =>
    record?.volumes.some(wanted) ?? false;

/** Returns the test by which a fence of this cluster is about the target. */
const testFor = async (target: NamedTarget, cluster: DiagnosedCluster, ports: SearchPorts): Promise<IsAbout> => {
  const { diskOf } = ports.cloud.rules;
  switch (target.kind) {
    case 'node':
      return ({ node }) => node === target.name;
    case 'volume':
      return recordNames(({ persistentVolume }) => persistentVolume === target.name);
    case 'disk':
      return (fence) =>
        fence.machine === target.id ||
        fence.node === target.id ||
        recordNames((volume) => volume.handle === target.id || diskOf(volume) === target.id)(fence);
    case 'claim': {
      const reading = await cluster.read(ports.signal);
      const volume = ifFound(await reading.claim(target))?.volumeName ?? '';
      refuseUnread(reading);
      return recordNames(({ persistentVolume }) => volume !== '' && persistentVolume === volume);
    }
    case 'pod': {
      const reading = await cluster.read(ports.signal);
      const on = ifFound(await reading.pod(target))?.node ?? null;
      refuseUnread(reading);
      return ({ node, record }) =>
        node === on ||
        (record?.pods.some(({ namespace, name }) => namespace === target.namespace && name === target.name) ?? false);
    }
  }
};

const inWords = ({ cluster, node, machine }: ExistingFence): string =>
  `Node ${node} in ${cluster}${machine === null ? '' : ` (${machine})`}`;

/**
 * Returns the one existing fence that a name leads to: the fence of a Node or of a machine, or the fence whose record
 * names the pod or the volume.
 * @throws InvalidInput if no fence matches, or more than one
 */
export const findFence = async (text: string, ports: SearchPorts): Promise<ExistingFence> => {
  const { clusters, signal, cloud } = ports;
  const machine = cloud.rules.machineOf({ source: 'providerID', driver: null, value: text });
  const target: NamedTarget = machine === null ? parseNamedTarget(text) : { kind: 'disk', id: machine };
  const perCluster = await Promise.all(
    clusters.map(async (one) => {
      const [isAbout, fences] = await Promise.all([testFor(target, one, ports), fencesIn(one.cluster, signal)]);
      return fences.filter(isAbout);
    }),
  );
  const [only, ...more] = perCluster.flat();
  const named = machine ?? targetInWords(target);
  if (!only)
    throw new InvalidInput(
      `no existing fence matches ${named} in ${clusters.map(({ cluster }) => cluster.name).join(', ')}`,
    );
  if (more.length > 0)
    throw new InvalidInput(
      `several existing fences match ${named}: ${[only, ...more].map(inWords).join(', ')}. Name one of the Nodes`,
    );
  return only;
};
