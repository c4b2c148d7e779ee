import { azureLookingStopped } from './clouds.ts';
import type { Scenario } from './explore.ts';
import { assumed, scenario, type Special } from './scenario.ts';
import type { Assumption } from './world.ts';

/** Each term of the assumption, turned second by second until something breaks. */

export interface Term {
  readonly name: string;
  /** What lasts so many seconds. */
  readonly says: string;
  /** One scenario for each value, from the assumed one to the worst (s). */
  readonly turns: readonly { readonly seconds: number; readonly scenario: Scenario }[];
}

const term = (name: string, says: string, values: readonly number[], turn: (seconds: number) => Special): Term => ({
  name,
  says,
  turns: values.map((seconds) => ({
    seconds,
    scenario: scenario(
      `${name}-${seconds}`,
      `The machine is stopped and started again. ${says}: ${seconds} s.`,
      { stops: 1, starts: 1 },
      turn(seconds),
    ),
  })),
});

const assuming = (change: Partial<Assumption>): Special => ({ assumption: { ...assumed, ...change } });

export const terms: readonly Term[] = [
  term('staleness', 'The longest time for which the cloud says "off" after the start', [1, 2, 3, 4], (seconds) =>
    assuming({ staleness: seconds }),
  ),
  term(
    'looks-stopped',
    'The longest time for which Azure says "stopped" after the start, with two reads 2 s apart',
    [1, 2, 3, 4],
    (seconds) => ({ cloud: azureLookingStopped(seconds) }),
  ),
  term('transit', 'The longest time until a call takes effect', [1, 2, 3, 4], (seconds) =>
    assuming({ transit: seconds }),
  ),
  term(
    'boot-to-mount',
    'The shortest time from the start until a kubelet mounts a disk, right after it has posted its boot',
    [5, 4, 3, 2],
    (seconds) => assuming({ bootToMount: seconds, bootToPost: Math.min(assumed.bootToPost, seconds) }),
  ),
  term('boot-to-post', 'The shortest time from the start until a kubelet posts its boot', [4, 3, 2, 1, 0], (seconds) =>
    assuming({ bootToPost: seconds }),
  ),
];
