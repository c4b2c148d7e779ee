import { isObjectName } from '../fencing/model/cluster-facts.ts';
import { InvalidInput, Unavailable } from '../fencing/model/errors.ts';
import { type MachineId, machineOfProviderID } from '../fencing/model/machine.ts';
import {
  type MachineCandidate,
  findCandidates,
  type SearchPorts,
  requireOneMachine,
  refuseUnread,
  parseNamedTarget,
  type NamedTarget,
  quoted,
  unanswered,
  targetInWords,
  TARGET_FORMS,
} from './target.ts';
import type { DiagnosedCluster } from './ports.ts';
import type { Cluster } from '../fencing/model/cluster.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import { STALE_LEASE_MS } from '../fencing/loop/ports.ts';
import { ifFound } from './model/facts.ts';

/**
 * Finds the machine, or the fence, that a name leads to. The name only selects the machine that Cloudfence asks the
 * cloud about. The loop proves everything itself. If a name leads to no machine, or to several, Cloudfence does not
 * guess.
 */

export interface NamedMachine {
  readonly machine: MachineId;
  /** Null if the machine was named by its id, or if it was found only through its disk. */
  readonly cluster: string | null;
  readonly node: string | null;
}

export interface LocatedNode extends NamedMachine {
  readonly cluster: string;
  readonly node: string;
}

const namesOf = ({ clusters }: SearchPorts): string => clusters.map(({ cluster }) => cluster.name).join(', ');

type ChooseMachine = typeof requireOneMachine;

/**
 * Returns the machine of a Node that a person has checked. Their statement needs no identity source. So if a machine
 * has taken over the Node of another one, the providerID decides: it never changes.
 * @throws InvalidInput if the Node names no machine, or several without a providerID
 */
export const machineOfCheckedNode: ChooseMachine = (node, sources, ports) =>
  machineOfProviderID(sources, ports.cloud.rules.machineOf) ?? requireOneMachine(node, sources, ports);

/**
 * Returns the machine to which a Node's name leads, in any of the clusters. Returns null if no cluster has or can have
 * such a Node.
 * @param choose chooses the machine from what the Node names
 * @throws InvalidInput if the Node names no machine or several, or exists in several clusters
 */
export const machineOfNode = async (
  node: string,
  ports: SearchPorts,
  choose: ChooseMachine = requireOneMachine,
): Promise<LocatedNode | null> => {
  if (!isObjectName(node)) return null;
  const found = await inEachCluster(ports, ({ cluster }) => cluster.identify(node, ports.signal));
  const [only, second] = found;
  if (!only) return null;
  if (second)
    throw new InvalidInput(
      `Node ${node} exists in ${found.map(({ cluster }) => cluster).join(' and ')}: give the instance id instead`,
    );
  return { cluster: only.cluster, node, machine: choose(node, only.answer, ports) };
};

type ClusterSearchPorts = Pick<SearchPorts, 'clusters' | 'inTime' | 'signal'>;

/**
 * Asks every cluster. The name may also exist in a cluster that does not answer, so it leads nowhere then.
 * @throws Unavailable
 */
const askEach = <T>(
  { clusters, inTime }: Pick<ClusterSearchPorts, 'clusters' | 'inTime'>,
  ask: (cluster: DiagnosedCluster) => Promise<T>,
): Promise<readonly { readonly cluster: string; readonly answer: T }[]> =>
  Promise.all(
    clusters.map(async (one) => {
      const { name } = one.cluster;
      try {
        return { cluster: name, answer: await inTime(() => ask(one)) };
      } catch (cause) {
        if (!(cause instanceof Unavailable)) throw cause;
        throw unanswered(name, cause, WITHOUT_IT);
      }
    }),
  );

const WITHOUT_IT = 'Name the machine by its id, or leave this cluster out of the configuration or the kubeconfig';

/** Asks every cluster, and returns the answers of the clusters that have the object. */
const inEachCluster = async <T>(
  ports: SearchPorts,
  ask: (cluster: DiagnosedCluster) => Promise<T | null>,
): Promise<readonly { readonly cluster: string; readonly answer: T }[]> => {
  const asked = await askEach(ports, ask);
  return asked.flatMap(({ cluster, answer }) => (answer === null ? [] : [{ cluster, answer }]));
};

const oneOf = (candidates: readonly MachineCandidate[], named: string): MachineCandidate => {
  const [first] = candidates;
  if (!first)
    throw new InvalidInput(
      `${named} leads to no machine: nothing shows its machine. Run cloudfence diagnose to see what it waits for`,
    );
  const machines = [...Map.groupBy(candidates, ({ machine }) => machine)];
  if (machines.length === 1) return first;
  const each = machines.map(([machine, [candidate]]) => `${machine} (${candidate?.because ?? ''})`);
  throw new InvalidInput(`${named} leads to ${machines.length} machines: ${each.join(', ')}. Name one of them`);
};

/** Null if no cluster has the object that the person named. */
const follow = async (target: NamedTarget, ports: SearchPorts): Promise<MachineCandidate | null> => {
  const found = await inEachCluster(ports, async (cluster) => {
    const reading = await cluster.read(ports.signal);
    const candidates = await findCandidates(target, { cluster, reading, ports });
    refuseUnread(reading);
    return candidates;
  });
  const named = targetInWords(target);
  const [only, second] = found;
  if (second)
    throw new InvalidInput(
      `${named} exists in ${found.map(({ cluster }) => cluster).join(' and ')}: name the machine instead`,
    );
  return only ? oneOf(only.answer, named) : null;
};

const nowhere = (target: NamedTarget, ports: SearchPorts): InvalidInput =>
  new InvalidInput(
    target.kind === 'disk'
      ? `${quoted(target.id)} is neither an instance id nor a Node nor a volume in ${namesOf(ports)}: name a ` +
          `machine by its id, or ${TARGET_FORMS}`
      : `there is no ${targetInWords(target)} in ${namesOf(ports)}`,
  );

/** Accepts every valid handle of a volume, and rejects characters that no cloud and no driver uses. */
const HANDLE = /^[\x21-\x7e]{1,1024}$/;

/** A name without a kind is a volume, or a deleted Node that left attachments. */
const followWord = async (word: string, ports: SearchPorts): Promise<MachineCandidate | null> => {
  const volume = HANDLE.test(word) ? await follow({ kind: 'disk', id: word }, ports) : null;
  return volume ?? (isObjectName(word) ? follow({ kind: 'node', name: word }, ports) : null);
};

/**
 * Returns the machine that a person names: by its id, or by a Node, pod, claim, or volume that leads to it.
 * @throws InvalidInput if the name leads to no machine or to several; PermissionDenied if a necessary read is denied
 */
export const machineNamed = async (text: string, ports: SearchPorts): Promise<NamedMachine> => {
  const machine = ports.cloud.rules.machineOf({ source: 'providerID', driver: null, value: text });
  if (machine !== null) return { machine, cluster: null, node: null };
  const target = parseNamedTarget(text);
  const node = await machineOfNode(target.kind === 'node' ? target.name : text, ports);
  const found = node ?? (await (target.kind === 'disk' ? followWord(text, ports) : follow(target, ports)));
  if (!found) throw nowhere(target, ports);
  return found;
};

/**
 * Refuses the outcome of a person's request about a machine that neither the cloud nor a cluster knows. An event about
 * such a machine is ignored.
 * @throws InvalidInput
 */
export const refuseUnknownMachine = ({ reason: { code, says } }: Pick<Outcome, 'reason'>): void => {
  if (code !== 'machine-unknown') return;
  throw new InvalidInput(
    `${says}. Check the id, and whether the credentials are for the machine's account and region, subscription, or ` +
      'project: cloudfence doctor shows what they reach',
  );
};

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
export const listFences = async (ports: ClusterSearchPorts): Promise<readonly ExistingFence[]> =>
  (await askEach(ports, ({ cluster }) => fencesIn(cluster, ports.signal))).flatMap(({ answer }) => answer);

type IsAbout = (fence: ExistingFence) => boolean;

type Volume = FenceRecord['volumes'][number];

const recordNames =
  (wanted: (volume: Volume) => boolean): IsAbout =>
  ({ record }) =>
    record?.volumes.some(wanted) ?? false;

/** Returns a predicate for the fences of this cluster that belong to the target. */
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

/** A word without a kind can also be the name of a Node. */
const fencedTargetInWords = (target: NamedTarget): string =>
  target.kind === 'disk' ? `a Node or a volume ${quoted(target.id)}` : targetInWords(target);

/**
 * Returns the only existing fence to which a name leads: the fence of a Node or of a machine, or the fence whose record
 * names the pod or the volume.
 * @throws InvalidInput if no fence matches, or several
 */
export const findFence = async (text: string, ports: SearchPorts): Promise<ExistingFence> => {
  const { signal, cloud } = ports;
  const machine = cloud.rules.machineOf({ source: 'providerID', driver: null, value: text });
  const target: NamedTarget = machine === null ? parseNamedTarget(text) : { kind: 'disk', id: machine };
  const perCluster = await askEach(ports, async (one) => {
    const [isAbout, fences] = await Promise.all([testFor(target, one, ports), fencesIn(one.cluster, signal)]);
    return fences.filter(isAbout);
  });
  const [only, ...more] = perCluster.flatMap(({ answer }) => answer);
  const named = machine ?? fencedTargetInWords(target);
  if (!only)
    throw new InvalidInput(`no fence in ${namesOf(ports)} is about ${named}. Run cloudfence status to see every fence`);
  if (more.length > 0)
    throw new InvalidInput(
      `several fences are about ${named}: ${[only, ...more].map(inWords).join(', ')}. Name one of the Nodes`,
    );
  return only;
};
