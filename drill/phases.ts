import { hasOwnLabelOrTaint, type NodeFacts } from '../fencing/model/cluster-facts.ts';
import { isPoweredOff, type MachineFacts } from '../fencing/model/machine.ts';
import type { CanaryView } from './ports.ts';

/** The phases of a drill, in order, and how to detect each of them. Pure. */

/** The result of one look during a drill. A part is null if it was not read, or if there was no answer. */
export interface Snapshot {
  readonly machine: MachineFacts | null;
  readonly node: NodeFacts | null;
  readonly canary: CanaryView | null;
}

/** The state before the stop. */
export interface Before {
  readonly node: string;
  readonly pod: string;
  readonly bootID: string;
}

interface Phase {
  readonly name: PhaseName;
  /** A title for people. */
  readonly says: string;
  readonly seen: (snapshot: Snapshot, before: Before) => boolean;
}

export type PhaseName =
  | 'off'
  | 'marked'
  | 'pod-deleted'
  | 'detached'
  | 'attached'
  | 'running'
  | 'up'
  | 'ready'
  | 'released';

const movedPod = ({ canary }: Snapshot, { node, pod }: Before) => {
  const now = canary?.pod;
  return now && now.uid !== pod && now.node !== null && now.node !== node ? now : null;
};

/** Returns the Node on which the canary runs after its move, or null. */
export const newNodeOf = (snapshot: Snapshot, before: Before): string | null => {
  const moved = movedPod(snapshot, before);
  return moved?.ready ? moved.node : null;
};

/** The phases from the stop until the canary runs elsewhere. */
export const recovery: readonly Phase[] = [
  { name: 'off', says: 'the cloud says that the machine is off', seen: ({ machine }) => isPoweredOff(machine) },
  { name: 'marked', says: 'the Node is marked', seen: ({ node }) => node !== null && hasOwnLabelOrTaint(node) },
  {
    name: 'pod-deleted',
    says: 'the old pod is deleted',
    seen: ({ canary }, { pod }) => canary !== null && canary.pod?.uid !== pod,
  },
  {
    name: 'detached',
    says: 'the old attachment is gone',
    seen: ({ canary }) => canary !== null && canary.here === null,
  },
  {
    name: 'attached',
    says: 'the volume is attached to another Node',
    seen: (snapshot, before) => movedPod(snapshot, before) !== null && snapshot.canary?.there?.attached === true,
  },
  {
    name: 'running',
    says: 'the canary runs on another Node',
    seen: (snapshot, before) => newNodeOf(snapshot, before) !== null,
  },
];

/** The phases from the start until the Node accepts pods again. */
export const restart: readonly Phase[] = [
  { name: 'up', says: 'the cloud says that the machine runs', seen: ({ machine }) => machine?.power === 'running' },
  {
    name: 'ready',
    says: 'the Node is Ready after a fresh boot',
    seen: ({ node }, { bootID }) => node?.ready === 'True' && node.bootID !== bootID,
  },
  {
    name: 'released',
    says: 'the fence is released',
    seen: ({ node }, { bootID }) =>
      node !== null &&
      node.bootID !== bootID &&
      !hasOwnLabelOrTaint(node) &&
      !node.taints.outOfService &&
      node.strayRecord === null,
  },
];

export interface ReachedPhase {
  readonly phase: PhaseName;
  readonly says: string;
  /** Ms since the request for the stop or the start. */
  readonly ms: number;
}

/** Returns the phases that this look shows for the first time. */
export const newlyReached = (
  phases: readonly Phase[],
  reached: readonly ReachedPhase[],
  snapshot: Snapshot,
  { before, ms }: { readonly before: Before; readonly ms: number },
): readonly ReachedPhase[] =>
  phases
    .filter(({ name, seen }) => !reached.some(({ phase }) => phase === name) && seen(snapshot, before))
    .map(({ name, says }) => ({ phase: name, says, ms }));

export const isComplete = (phases: readonly Phase[], reached: readonly ReachedPhase[]): boolean =>
  phases.every(({ name }) => reached.some(({ phase }) => phase === name));

/** Returns the first phase that was not reached, or null. */
export const firstMissing = (phases: readonly Phase[], reached: readonly ReachedPhase[]): string | null =>
  phases.find(({ name }) => !reached.some(({ phase }) => phase === name))?.says ?? null;

export const msOf = (reached: readonly ReachedPhase[], wanted: PhaseName): number | null =>
  reached.find(({ phase }) => phase === wanted)?.ms ?? null;
