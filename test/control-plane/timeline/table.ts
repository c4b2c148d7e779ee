import { medianOf, middle, withRange } from './figures.ts';
import type { Report, Row } from './report.ts';
import { rowOf, ways } from './report.ts';

/** Rows of cells. The first row has the titles. */
export type Table = readonly (readonly string[])[];

const TITLES = [
  'remedy',
  'runs',
  'old pod gone',
  'old VolumeAttachment deleting / gone',
  'cloud detached',
  'new one attached',
  '× the floor',
  'new pod Running',
] as const;

const timesFloor = (floor: number, own: number): string => (Number.isFinite(own) ? (own / floor).toFixed(2) : '–');

const lineOf = ({ way, played }: Row, floor: number): readonly string[] => [
  ways[way],
  String(played.length),
  middle(played, 'podGone'),
  `${middle(played, 'deleting')} / ${middle(played, 'gone')}`,
  middle(played, 'detached'),
  withRange(played, 'attached'),
  timesFloor(floor, medianOf(played, 'attached')),
  middle(played, 'running'),
];

export const recoveryTable = (report: Report): Table => {
  const floor = medianOf(rowOf(report, 'floor'), 'attached');
  return [TITLES, ...report.rows.map((row) => lineOf(row, floor))];
};

const width = (table: Table, column: number): number => Math.max(...table.map((line) => line[column]?.length ?? 0));

export const asText = (table: Table): string =>
  table
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(width(table, column)) : cell.padStart(width(table, column))))
        .join('  '),
    )
    .join('\n');

const markdownLine = (line: readonly string[]): string => `| ${line.join(' | ')} |`;

export const asMarkdown = ([titles = [], ...lines]: Table): string =>
  [
    markdownLine(titles),
    markdownLine(titles.map((_, column) => (column === 0 ? '---' : '---:'))),
    ...lines.map(markdownLine),
  ].join('\n');
