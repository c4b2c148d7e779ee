import { failureOf } from './shrink.ts';
import { type HourReport, play } from './simulation.ts';
import { soakPlan } from './soak-plan.ts';
import { readOptions } from '../script-options.ts';

/**
 * Runs the system for hours of virtual time, and prints the heap after each garbage collection. Exits with 1 if
 * anything is unsafe or left over at the end, or if the heap grew. `--hours N --seed S`
 */

const USAGE = `npm run soak -- [options]
  --hours N           run for so many hours of virtual time (200)
  --seed S            begin with this seed (1)`;

const values = readOptions(USAGE, {
  hours: { type: 'string', default: '200' },
  seed: { type: 'string', default: '1' },
});

const MOST_GROWTH = 1.2;
const MEGABYTE = 2 ** 20;

const heap = (): number => {
  if (!globalThis.gc) throw new Error('start it with --expose-gc, as npm run soak does');
  globalThis.gc();
  return process.memoryUsage().heapUsed / MEGABYTE;
};

const sum = (counts: HourReport['counts'], prefix: string): number =>
  [...counts].reduce((total, [what, times]) => total + (what.startsWith(prefix) ? times : 0), 0);

const heaps: number[] = [];
const SHOWN_EVERY = 10;

const tellHour = ({ hours, counts, waiting }: HourReport): void => {
  heaps.push(heap());
  if (hours % SHOWN_EVERY !== 0) return;
  console.log(
    `hour ${hours}: ${sum(counts, 'fault ')} faults, ${sum(counts, 'outcome fenced')} fenced, ${sum(counts, 'outcome released')} released, ${waiting} messages wait, heap ${(heaps.at(-1) ?? 0).toFixed(1)} MB`,
  );
};

const average = (some: readonly number[]): number => some.reduce((total, one) => total + one, 0) / some.length;

Error.stackTraceLimit = 0;
const begun = performance.now();
const hours = Number(values.hours);
const played = await play(soakPlan(Number(values.seed), hours), { everyHour: tellHour });
const tenth = Math.max(1, Math.floor(heaps.length / 10));
// In the first hours, caches fill.
const before = average(heaps.slice(tenth, 2 * tenth));
const growth = average(heaps.slice(-tenth)) / before;
for (const [what, times] of [...played.counts].toSorted(([a], [b]) => a.localeCompare(b)))
  console.log(`  ${what}: ${times}`);
for (const { breaks, says } of played.violations.slice(0, 3)) console.log(`breaks ${breaks}: ${says}`);
for (const says of played.stuck) console.log(`left over: ${says}`);
console.log(
  `${hours} hours in ${Math.round((performance.now() - begun) / 1_000)} s: ${played.violations.length} unsafe, ${played.stuck.length} left over, heap at the end ${growth.toFixed(2)} times that at the beginning`,
);
if (failureOf(played) !== null || growth > MOST_GROWTH) process.exitCode = 1;
