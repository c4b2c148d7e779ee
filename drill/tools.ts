import type { Clock } from '../fencing/loop/ports.ts';
import type { CheckOptions, DrillFacts, Refusal } from './checks.ts';
import type { FactRequest, FactTools } from './facts.ts';
import type { Before, Reached } from './phases.ts';
import type { CanaryOptions, CanaryView, DrillCloud, DrillCluster, DrillTarget } from './ports.ts';

/** What the parts of a drill share. */

export interface DrillTools extends FactTools {
  readonly drillCloud: DrillCloud;
  readonly drillCluster: DrillCluster;
  readonly clock: Clock;
  /** Ends the drill early. What it made is removed nevertheless. */
  readonly signal: AbortSignal;
  /** Ends the cleanup early, too. */
  readonly giveUp: AbortSignal;
  readonly tell: (says: string) => void;
  /** Asks a person whether the machine may be stopped. */
  readonly confirm: (plan: DrillFacts) => Promise<boolean>;
  /** Fences from here until the signal ends, where nothing is installed. Null where the installed functions have to. */
  readonly fenceHere: ((signal: AbortSignal) => Promise<void>) | null;
}

export interface DrillOptions {
  readonly target: DrillTarget;
  readonly canary: CanaryOptions;
  readonly checks: Omit<CheckOptions, 'allowCommand' | 'removeCommands' | 'storageClass'>;
  /** How long each part may take (ms). */
  readonly patience: number;
  /** Only check whether the machine may be stopped. */
  readonly dryRun: boolean;
}

export type DrillEnd = 'recovered' | 'not-recovered' | 'refused' | 'declined' | 'checked' | 'failed' | 'interrupted';

export interface DrillResult {
  readonly end: DrillEnd;
  readonly says: string;
  readonly refusals: readonly Refusal[];
  /** What was known before the stop, or null. */
  readonly facts: DrillFacts | null;
  /** When the stop was requested (epoch ms), or null. */
  readonly stoppedAt: number | null;
  /** Ms after the request of the stop. */
  readonly recovery: readonly Reached[];
  /** Ms after the request of the start. */
  readonly restart: readonly Reached[];
  /** The Node on which the canary ran at the end, or null. */
  readonly movedTo: string | null;
  /** What the drill could not undo, and the commands for it. */
  readonly left: readonly Refusal[];
}

/** What the drill has done so far, and has to undo. */
export interface Progress {
  facts: DrillFacts | null;
  made: boolean;
  volume: CanaryView['volume'];
  before: Before | null;
  stoppedAt: number | null;
  /** When the part that is watched began: the request of the stop, or of the start (monotonic ms). */
  began: number;
  /** The stop may have left, and the last look does not say that the machine runs. */
  mayBeOff: boolean;
  recovery: readonly Reached[];
  restart: readonly Reached[];
  movedTo: string | null;
}

/** The pause between two looks (ms). */
export const POLL_MS = 1_000;

export const checkOptionsOf = (
  { checks, canary }: DrillOptions,
  { drillCluster }: DrillTools,
  node: string,
): CheckOptions => ({
  ...checks,
  storageClass: canary.storageClass,
  allowCommand: drillCluster.allowCommand(node),
  removeCommands: drillCluster.removeCommands(canary),
});

export const requestOf = ({ target, canary, checks }: DrillOptions, own: FactRequest['own']): FactRequest => ({
  target,
  canary,
  own,
  cap: checks.policy.cap,
});
