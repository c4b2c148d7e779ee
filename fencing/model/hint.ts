import type { MachineId } from './machine.ts';

/** A reason to look at one machine now; never a proof of anything. */
export interface Hint {
  readonly machine: MachineId;
  /** What happened, in a kebab-case word or two, such as `state-change-stopped` or `spot-interruption`. */
  readonly because: string;
  readonly eventId: string | null;
  /** When it happened (epoch ms, to the second, no ordering key), or null when the event does not say. */
  readonly time: number | null;
  /** Whose machine, as far as the event says: foreign accounts and regions are for the caller to refuse. */
  readonly account: string | null;
  readonly region: string | null;
  /** The name of the archive replay that brought it, or null. */
  readonly replay: string | null;
  /** The message that it came in wants a dry run. */
  readonly dryRun?: true;
}

/** Something that cannot be read, in words for the person who sent it. */
export interface Fault {
  readonly what: string;
  /** A JSON path, from `$`. */
  readonly where: string;
  readonly remedy: string;
  readonly excerpt: string;
}

/** Something that was understood and names no machine, such as a test notification. */
export interface IgnoredEvent {
  readonly what: string;
  readonly where: string;
}

/** What a provider's reader makes of an event: every input gives at least one hint, fault or aside. */
export interface ParsedEvent {
  readonly hints: readonly Hint[];
  readonly faults: readonly Fault[];
  readonly ignored: readonly IgnoredEvent[];
  /** Whether a dry run is wanted anywhere in the message, for whoever reads of it what no provider can. */
  readonly dryRun?: 'wanted' | 'unclear';
}
