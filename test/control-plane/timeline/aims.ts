import { grouped } from '../../bench/table.ts';
import { medianOf, seconds } from './figures.ts';
import type { Report, RemedyName } from './report.ts';
import { rowOf, ways } from './report.ts';
import { sameCalls, timeRatio, totals } from './sizes.ts';

/** An aim and its result. A missed aim fails nothing, because it also depends on this computer. */
export interface Aim {
  readonly met: boolean;
  readonly says: string;
}

const ATTACHED_WITHIN_S = 3;
const BEHIND_FLOOR_S = 0.5;
const RATIO = 1.1;

export const inWords = ({ met, says }: Aim): string => `aim ${met ? 'met' : 'missed'}: ${says}`;

const signed = (value: number): string => (value < 0 ? `${seconds(-value)} s less` : `${seconds(value)} s more`);

const speedOf = (report: Report, way: RemedyName): readonly Aim[] => {
  const [own, floor] = [rowOf(report, way), rowOf(report, 'floor')].map((played) => medianOf(played, 'attached'));
  if (own === undefined || floor === undefined || Number.isNaN(own - floor)) return [];
  return [
    {
      met: own <= ATTACHED_WITHIN_S,
      says: `${ways[way]}: volume attached elsewhere after ${seconds(own)} s, of at most ${ATTACHED_WITHIN_S} s`,
    },
    {
      met: own - floor <= BEHIND_FLOOR_S,
      says: `${ways[way]}: ${signed(own - floor)} than the floor, of at most ${BEHIND_FLOOR_S} s more, proof included`,
    },
  ];
};

const scaleOf = ({ sizes }: Report): readonly Aim[] => {
  const [small, large] = sizes;
  if (!small || !large) return [];
  const [own, floor] = [timeRatio(sizes, 'timed'), timeRatio(sizes, 'floor')];
  const among = `${grouped(large.nodes)} Nodes`;
  return [
    {
      met: sameCalls(sizes),
      says: `the same calls among ${among} as among ${small.nodes}: ${totals(large)}, and ${totals(small)}`,
    },
    {
      met: own <= RATIO,
      says: `${own.toFixed(2)} × the time among ${among}, of at most ${RATIO} × (the floor: ${floor.toFixed(2)} ×)`,
    },
  ];
};

export const aimsOf = (report: Report): readonly Aim[] => [
  ...speedOf(report, 'warm'),
  ...speedOf(report, 'cold'),
  ...scaleOf(report),
];
