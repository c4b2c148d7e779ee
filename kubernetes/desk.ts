import type { Reader, Writer } from './connection.ts';

/** Where a step is carried out: reads are free, each write leaves under the step's permit. */
export interface Desk {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly now: () => number;
}
