/** The chain that a cloud's events pass in an install, and how a test event of the doctor gets into it. */

/** A test event of the doctor. It names no machine. */
export interface TestEvent {
  readonly cloudfence: 'test-event';
  readonly id: string;
}

/** What names a test event on a bus that others use as well. */
export const TEST_SOURCE = 'cloudfence.test';
export const TEST_DETAIL_TYPE = 'Cloudfence Test Event';

/** How the doctor sends a test event into the chain of its install. */
export interface TestChain {
  /** The parts that the event passes, such as `bus → rule → queue → on-event`. */
  readonly path: string;
  /** What of the chain of real events it does not pass. Null if nothing. */
  readonly notTried: string | null;
  /** Where to look if it does not arrive. */
  readonly remedy: string;
  /** The command that shows more. */
  readonly next: string;
  readonly send: (event: TestEvent, signal: AbortSignal) => Promise<void>;
}
