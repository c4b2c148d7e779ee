import type { CapReservation } from '../model/ledger.ts';
import type { DiskId, MachineFacts } from '../model/machine.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Reason } from '../model/reason.ts';
import type { Step } from '../model/steps.ts';
import type { AwaitedAttachments, PlannedStep } from '../rules/view.ts';
import type { SubjectEvent } from './ending.ts';
import type { ClusterLocation, RunState } from './state.ts';

/** The commands of a run. The driver runs each, and its result becomes part of the state of the run. */

/**
 * What the run does next. A command may contain several reads. A command contains several writes only if they are steps
 * of the same kind on different objects.
 */
export type Command =
  /** `disks`: read the machine's disks too. `search`: look for its attachments in the list of all attachments. */
  | {
      readonly do: 'look';
      readonly machine: boolean;
      readonly cluster: boolean;
      readonly disks: boolean;
      readonly search: boolean;
    }
  | { readonly do: 'locate'; readonly facts: MachineFacts }
  | { readonly do: 'witness'; readonly disks: readonly DiskId[] }
  | { readonly do: 'survey-connectivity'; readonly node: string }
  /**
   * `markToRecheck`: the mark that follows if the cap admits the fence. It is rechecked concurrently with the
   * reservation.
   */
  | {
      readonly do: 'reserve';
      readonly location: ClusterLocation;
      readonly reservation: CapReservation;
      readonly markToRecheck: { readonly node: string; readonly step: string } | null;
    }
  /** Records in the ledger that the fence has ended. `boot`: the boot that was fenced. Null if it is not known. */
  | { readonly do: 'conclude'; readonly location: ClusterLocation; readonly boot: string | null }
  | { readonly do: 'recheck'; readonly location: ClusterLocation; readonly node: string; readonly step: Step }
  /**
   * Concurrent steps of one kind. Each is a separate call with its own answer. `expires`: when the proof expires.
   * `leaveBy`: when the recheck becomes too old for the steps for which it was not made. Their calls must be sent
   * before that. Both are times of the monotonic clock (ms). `isRechecked`: whether the recheck was made for the first
   * step, which may then be sent at any age of the recheck.
   */
  | {
      readonly do: 'act';
      readonly location: ClusterLocation;
      readonly step: Step;
      readonly because: Reason;
      readonly alongside: readonly PlannedStep[];
      readonly expires: number;
      readonly leaveBy: number;
      readonly isRechecked: boolean;
    }
  /** Dry run or shadow mode: the step is only simulated. */
  | { readonly do: 'imagine'; readonly step: Step; readonly because: Reason }
  /** `until`: events that may end the sleep earlier. */
  | { readonly do: 'sleep'; readonly ms: number; readonly because: Reason; readonly until: AwaitedAttachments | null }
  | { readonly do: 'end'; readonly ending: NonNullable<RunState['ending']> }
  | {
      readonly do: 'record-events';
      readonly location: ClusterLocation;
      readonly events: readonly SubjectEvent[];
    }
  | { readonly do: 'finish'; readonly outcome: Outcome };

/** Returns a command that looks. A look at the machine also reads its disks, unless `disks` is false. */
export const lookAt = (wanted: {
  readonly machine?: boolean;
  readonly cluster?: boolean;
  readonly disks?: boolean;
  readonly search?: boolean;
}): Command => ({
  do: 'look',
  machine: false,
  cluster: false,
  disks: true,
  search: false,
  ...wanted,
});

/** Returns the command that takes only this step. */
export const actOn = (
  location: ClusterLocation,
  act: PlannedStep,
  expires: number,
): Extract<Command, { do: 'act' }> => ({
  do: 'act',
  location,
  ...act,
  alongside: [],
  expires,
  leaveBy: expires,
  isRechecked: true,
});

/**
 * A step of a command, with the latest time at which its call may be sent, even if the proof lasts longer (monotonic
 * ms).
 */
interface StepOfCommand extends PlannedStep {
  readonly leaveBy: number;
}

/** Returns all steps of a command, the most urgent one first. */
export const stepsOfCommand = (command: Extract<Command, { do: 'act' }>): readonly StepOfCommand[] => {
  const { step, because: reason, alongside, leaveBy, isRechecked } = command;
  const first = { step, because: reason, leaveBy: isRechecked ? Infinity : leaveBy };
  return [first, ...alongside.map((act) => ({ ...act, leaveBy }))];
};

/** The maximum age (ms) of a recheck for a step for which it was not made. */
export const RECHECK_LASTS_MS = 500;
