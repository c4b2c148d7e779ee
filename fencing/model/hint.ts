import type { MachineId } from './machine.ts';

/** A reason to look at one machine now. It is never proof. */
export interface Hint {
  readonly machine: MachineId;
  /** What happened, in a kebab-case word or two, such as `state-change-stopped` or `spot-interruption`. */
  readonly because: string;
  readonly eventId: string | null;
  /**
   * When it happened (epoch ms, accurate to the second). Do not use it to order events. Null if the event does not
   * contain a time.
   */
  readonly time: number | null;
  /**
   * The account and region of the machine, if the event names them. The caller must reject other accounts and regions.
   */
  readonly account: string | null;
  readonly region: string | null;
  /** The name of the archive replay that brought the event, or null. */
  readonly replay: string | null;
  /** The message that contained the hint requests a dry run. */
  readonly dryRun?: true;
}

/** A part of a message that cannot be read, described for the sender. */
export interface Fault {
  readonly what: string;
  /** A JSON path that starts at `$`. */
  readonly where: string;
  readonly remedy: string;
}

/** An event that the reader understands but that names no machine, such as a test notification. */
export interface IgnoredEvent {
  readonly what: string;
  readonly where: string;
}

/**
 * The result of a provider's event reader. For every input, the reader returns at least one hint, fault, or ignored
 * event.
 */
export interface ParsedEvent {
  readonly hints: readonly Hint[];
  readonly faults: readonly Fault[];
  readonly ignored: readonly IgnoredEvent[];
  /**
   * Whether any part of the message requests a dry run. Callers use it for parts of the message that no provider can
   * read.
   */
  readonly dryRun?: 'wanted' | 'unclear';
}
