import type { NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { CapUse } from '../fencing/model/cap-use.ts';
import type { MachineId, IdentitySource } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';

/** The state of one cluster. */
export interface Standing {
  /** The Nodes that have a taint, a label, or a record of Cloudfence. */
  readonly nodes: readonly NodeFacts[];
  /** Why people paused Cloudfence in this cluster, or null. */
  readonly paused: string | null;
  /** Null if there is no ledger. Without it, nothing is fenced. */
  readonly cap: (CapUse & { readonly override: { readonly until: number; readonly reason: string } | null }) | null;
}

/** Reads the state of one cluster. @throws CloudfenceError */
export type ReadStanding = (cap: Policy['cap'], signal: AbortSignal) => Promise<Standing>;

export interface StatusPorts {
  readonly clusters: readonly { readonly name: string; readonly read: ReadStanding }[];
  readonly policy: Policy;
  readonly machineOf: (source: IdentitySource) => MachineId | null;
  /** Runs a release as a dry run, and returns how it ended. */
  readonly rehearseRelease: (fence: { readonly cluster: string; readonly machine: MachineId }) => Promise<Outcome>;
  /** Epoch ms. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}
