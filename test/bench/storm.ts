import { playStorm, type Storm, type StormCost } from '../random/storm.ts';
import { grouped } from './table.ts';

/** A fifth of a cluster stops within one minute: what that costs at three sizes, and how it grows. */

const SIZES: readonly Pick<Storm, 'machines' | 'dead'>[] = [
  { machines: 500, dead: 100 },
  { machines: 1_500, dead: 300 },
  { machines: 5_000, dead: 1_000 },
];
/** `maximumConcurrency` of infra/aws/parameters.yml. */
const AT_ONCE = 5;

const SAYS = { stops: 'all stop', mixed: 'mixed, three zones' } as const;

type Row = readonly [label: string, cell: (cost: StormCost) => string];

const rows: readonly Row[] = [
  ['fenced', ({ fenced }) => grouped(fenced)],
  ['run, and are free', ({ free }) => grouped(free)],
  ['last one fenced after, s', ({ lastAfter }) => lastAfter.toFixed(0)],
  ['half of them after, s', ({ halfAfter }) => halfAfter.toFixed(0)],
  ['calls to the API server', ({ calls }) => grouped(calls)],
  ['  for each fence', ({ calls, fenced }) => (calls / fenced).toFixed(0)],
  ['  declined with 429', ({ declined }) => grouped(declined)],
  ['MB of its answers', ({ bytes }) => (bytes / 1e6).toFixed(0)],
  ['  for each fence', ({ bytes, fenced }) => (bytes / 1e6 / fenced).toFixed(2)],
  ['MB as they are sent', ({ sent }) => (sent / 1e6).toFixed(0)],
  ['  for each fence', ({ sent, fenced }) => (sent / 1e6 / fenced).toFixed(2)],
  ['calls to EC2', ({ cloudCalls }) => grouped(cloudCalls)],
  ['  throttled', ({ cloudThrottles }) => grouped(cloudThrottles)],
  ['dead letters', ({ deadLetters }) => grouped(deadLetters)],
];

/** The kinds of calls of the largest storm, those with the most bytes first. */
const kindRows = (all: readonly StormCost[]): readonly string[] => {
  const largest = [...(all.at(-1)?.kinds ?? [])].toSorted(([, a], [, b]) => b.bytes - a.bytes || b.calls - a.calls);
  return largest.map(([name]) => {
    const cells = all.map(({ kinds, fenced }) => {
      const { calls, bytes } = kinds.get(name) ?? { calls: 0, bytes: 0 };
      return `${(calls / fenced).toFixed(1)} · ${(bytes / 1e3 / fenced).toFixed(1)} kB`.padStart(18);
    });
    return `    ${name.padEnd(26)}${cells.join('')}`;
  });
};

const slopeOf = (all: readonly StormCost[], of: (cost: StormCost) => number): string => {
  const [smallest, largest] = [all[0], all.at(-1)];
  return smallest && largest ? `×${(of(largest) / of(smallest)).toFixed(1)}` : '';
};

const tableOf = (title: string, all: readonly StormCost[]): string =>
  [
    title,
    ...rows.map(([label, cell]) => `  ${label.padEnd(28)}${all.map((cost) => cell(cost).padStart(18)).join('')}`),
    `  the largest, beside the smallest: ${slopeOf(all, ({ fenced }) => fenced)} the fences, ${slopeOf(all, ({ calls }) => calls)} the calls, ${slopeOf(all, ({ bytes }) => bytes)} the bytes (${slopeOf(all, ({ sent }) => sent)} as they are sent), ${slopeOf(all, ({ cloudCalls }) => cloudCalls)} the calls to EC2`,
    '  for each fence, calls that took effect and bytes:',
    ...kindRows(all),
  ].join('\n');

const titleOf = (says: string): string =>
  `${says.padEnd(30)}${SIZES.map(({ dead, machines }) => `${grouped(dead)} of ${grouped(machines)}`.padStart(18)).join('')}`;

export const benchStorm = async (): Promise<void> => {
  // An error with its stack takes longer to create than anything else here.
  Error.stackTraceLimit = 0;
  for (const shape of ['stops', 'mixed'] as const)
    for (const eventsLost of [false, true]) {
      const all: StormCost[] = [];
      for (const size of SIZES) all.push(await playStorm({ ...size, eventsLost, shape, atOnce: AT_ONCE }));
      console.log(`${tableOf(titleOf(`${SAYS[shape]}, ${eventsLost ? 'by sweeps' : 'with events'}`), all)}\n`);
    }
};
