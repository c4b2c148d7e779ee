import { parseArgs } from 'node:util';
import { planFor } from './plan.ts';
import { play } from './simulation.ts';

const { values } = parseArgs({
  options: { schedules: { type: 'string' }, seed: { type: 'string' }, replay: { type: 'boolean' } },
});
const first = Number(values.seed ?? 1);
const schedules = values.replay ? 1 : Number(values.schedules ?? 1_000);
if (!values.replay) Error.stackTraceLimit = 0;
const begun = performance.now();
const counts = new Map<string, number>();
let unsafe = 0;
let stuck = 0;
let virtual = 0;
for (let seed = first; seed < first + schedules; seed += 1) {
  const played = await play(planFor(seed), { tells: values.replay ?? false });
  for (const [what, times] of played.counts) counts.set(what, (counts.get(what) ?? 0) + times);
  virtual += played.lasted;
  for (const { at, says } of played.story) console.log(`${(at / 1_000).toFixed(1)} s  ${says}`);
  for (const { at, breaks, says } of played.violations.slice(0, 1)) {
    unsafe += 1;
    if (unsafe <= 20) console.log(`seed ${seed} breaks ${breaks} at ${at / 1_000} s: ${says}`);
  }
  if (played.stuck.length > 0) {
    stuck += 1;
    if (stuck <= 20) console.log(`seed ${seed} is stuck: ${played.stuck.join('; ')}`);
  }
}
const seconds = (performance.now() - begun) / 1_000;
for (const [what, times] of [...counts].toSorted(([a], [b]) => a.localeCompare(b))) console.log(`  ${what}: ${times}`);
console.log(
  `${schedules} schedules from seed ${first}: ${unsafe} unsafe, ${stuck} stuck, ${Math.round(virtual / 3_600_000)} hours in ${seconds.toFixed(1)} s, ${((seconds * 1_000) / schedules).toFixed(2)} ms each`,
);
process.exitCode = unsafe + stuck > 0 ? 1 : 0;
