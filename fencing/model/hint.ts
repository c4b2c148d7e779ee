import type { MachineId } from './machine.ts';

/** A reason to look at one machine now. It is never a proof. */
export interface Hint {
  readonly machine: MachineId;
  /** What happened, in a kebab-case word or two, such as `state-change-stopped` or `spot-interruption`. */
  readonly because: string;
  readonly eventId: string | null;
  /** When it happened (epoch ms, accurate to the second, no ordering key). Null if the event does not say. */
  readonly time: number | null;
  /**
   * The account and region of the machine, if the event names them. The caller has to refuse foreign accounts and
   * regions.
   */
  readonly account: string | null;
  readonly region: string | null;
  /** The name of the archive replay that brought the event, or null. */
  readonly replay: string | null;
  /** The message that carried the hint requests a dry run. */
  readonly dryRun?: true;
}

/** Something that cannot be read, described for the person who sent it. */
export interface Fault {
  readonly what: string;
  /** A JSON path that starts at `$`. */
  readonly where: string;
  readonly remedy: string;
}

/** An event that the reader understands and that names no machine, such as a test notification. */
export interface IgnoredEvent {
  readonly what: string;
  readonly where: string;
}

/** What a provider's reader makes of an event. Every input gives at least one hint, fault, or ignored event. */
export interface ParsedEvent {
  readonly hints: readonly Hint[];
  readonly faults: readonly Fault[];
  readonly ignored: readonly IgnoredEvent[];
  /**
   * Whether the message requests a dry run anywhere. It is for callers that read parts of the message that no provider
   * can read.
   */
  readonly dryRun?: 'wanted' | 'unclear';
}
