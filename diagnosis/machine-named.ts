import { isName } from '../fencing/model/cluster-facts.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import {
  type MachineCandidate,
  findCandidates,
  type SearchPorts,
  onlyMachineOf,
  refuseUnread,
} from './machine-candidates.ts';
import type { DiagnosedCluster } from './ports.ts';
import { parseNamedTarget, type NamedTarget, quoted, targetInWords } from './target.ts';

/**
 * Finds the machine that a name leads to. The name decides which machine Cloudfence asks about, and nothing else: the
 * loop proves everything by itself. If a name leads to several machines or to none, nothing is guessed.
 */

export interface NamedMachine {
  readonly machine: MachineId;
  /** Null if the machine was named by its id, or if only the disk names it. */
  readonly cluster: string | null;
  readonly node: string | null;
}

export interface LocatedNode extends NamedMachine {
  readonly cluster: string;
  readonly node: string;
}

const namesOf = ({ clusters }: SearchPorts): string => clusters.map(({ cluster }) => cluster.name).join(', ');

/**
 * Returns the machine that a Node's name leads to, in any of the clusters, or null when no cluster has or can have such
 * a Node.
 * @throws InvalidInput when the Node names no machine or more than one, or exists in more than one cluster
 */
export const machineOfNode = async (node: string, ports: SearchPorts): Promise<LocatedNode | null> => {
  if (!isName(node)) return null;
  const found = await inEachCluster(ports, ({ cluster }) => cluster.identify(node, ports.signal));
  const [only, second] = found;
  if (!only) return null;
  if (second)
    throw new InvalidInput(
      `Node ${node} exists in ${found.map(({ cluster }) => cluster).join(' and ')}: give the instance id instead`,
    );
  return { cluster: only.cluster, node, machine: onlyMachineOf(node, only.answer, ports) };
};

/** Asks every cluster, and returns the answers of those that have what was asked for. */
const inEachCluster = async <T>(
  { clusters }: SearchPorts,
  ask: (cluster: DiagnosedCluster) => Promise<T | null>,
): Promise<readonly { readonly cluster: string; readonly answer: T }[]> => {
  const asked = await Promise.all(clusters.map(async (one) => ({ cluster: one.cluster.name, answer: await ask(one) })));
  return asked.flatMap(({ cluster, answer }) => (answer === null ? [] : [{ cluster, answer }]));
};

const oneOf = (candidates: readonly MachineCandidate[], named: string): MachineCandidate => {
  const [first] = candidates;
  if (!first)
    throw new InvalidInput(
      `${named} leads to no machine: nothing shows where it is. cloudfence diagnose says what it waits for`,
    );
  const machines = [...Map.groupBy(candidates, ({ machine }) => machine)];
  if (machines.length === 1) return first;
  const each = machines.map(([machine, [candidate]]) => `${machine} (${candidate?.because ?? ''})`);
  throw new InvalidInput(`${named} leads to ${machines.length} machines: ${each.join(', ')}. Name one of them`);
};

/** Null if no cluster has what the person named. */
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
      ? `${quoted(target.id)} is neither an instance id nor a Node nor a volume in ${namesOf(ports)}`
      : `there is no ${targetInWords(target)} in ${namesOf(ports)}`,
  );

/** Any handle of a volume, and nothing that no cloud and no driver would write. */
const HANDLE = /^[\x21-\x7e]{1,1024}$/;

/** A word without a kind is a volume, or a Node that is gone and left attachments. */
const followWord = async (word: string, ports: SearchPorts): Promise<MachineCandidate | null> => {
  const volume = HANDLE.test(word) ? await follow({ kind: 'disk', id: word }, ports) : null;
  return volume ?? (isName(word) ? follow({ kind: 'node', name: word }, ports) : null);
};

/**
 * Returns the machine that a person names: by its own id, or by a Node, pod, claim, or volume that leads to it.
 * @throws InvalidInput if it leads to no machine or to several; PermissionDenied if a read on the way is refused
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
