import type { FunctionAims, PackagedFunction } from './functions.ts';

/** One line for each measure and one column for each function, and whether every function meets the aims. */

const FIRST = 42;
const COLUMN = 12;

const megabytes = (bytes: number | null): string => (bytes === null ? '–' : (bytes / 1e6).toFixed(2));

type Cell = (one: PackagedFunction) => string;

const rows: readonly (readonly [string, Cell])[] = [
  ['', ({ name }) => name],
  ['zip, MB', ({ zip }) => megabytes(zip)],
  ['cloud part, MB', ({ cloudPart }) => megabytes(cloudPart)],
  ['Kubernetes part, MB', ({ kubernetesPart }) => megabytes(kubernetesPart)],
  ['Kubernetes part loaded', ({ lazily }) => (lazily ? 'lazily' : 'at import')],
  ['ms of import', ({ importMs }) => importMs.toFixed(0)],
  ['RSS after import, MB', ({ rssAfterImport }) => megabytes(rssAfterImport)],
  ['RSS after the first fence, MB', ({ rssAfterFence }) => megabytes(rssAfterFence)],
  ['highest RSS until then, MB', ({ peakRss }) => megabytes(peakRss)],
  ['ms of CPU of the first fence', ({ fenceCpuMs }) => fenceCpuMs?.toFixed(0) ?? '–'],
];

export const functionTable = (title: string, all: readonly PackagedFunction[]): string =>
  [
    `The packaged functions on ${title}`,
    ...rows.map(([label, cell]) => `  ${label.padEnd(FIRST)}${all.map((one) => cell(one).padStart(COLUMN)).join('')}`),
  ].join('\n');

interface Aim {
  readonly says: string;
  readonly most: number;
  readonly of: (one: PackagedFunction) => number;
}

const aimsOf = (most: FunctionAims): readonly Aim[] => [
  { says: 'MB of cloud part', most: most.cloudPart, of: ({ cloudPart }) => cloudPart / 1e6 },
  { says: 'MB of Kubernetes part', most: most.kubernetesPart, of: ({ kubernetesPart }) => kubernetesPart / 1e6 },
  { says: 'ms of import', most: most.importMs, of: ({ importMs }) => importMs },
  {
    says: 'MB of RSS after the first fence',
    most: most.rssAfterFence,
    of: ({ rssAfterFence }) => (rssAfterFence ?? 0) / 1e6,
  },
];

export const functionAims = (all: readonly PackagedFunction[], most: FunctionAims): readonly string[] => {
  const lazily = all.every((one) => one.lazily);
  return [
    ...aimsOf(most).map(({ says, most: limit, of }) => {
      const worst = Math.max(...all.map(of));
      return `aim ${worst <= limit ? 'met' : 'missed'}: ${worst.toFixed(2)} ${says} at the most, of ${limit}`;
    }),
    `aim ${lazily ? 'met' : 'missed'}: the Kubernetes part is loaded lazily`,
  ];
};
