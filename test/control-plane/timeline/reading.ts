import { median, medianOf, seconds } from './figures.ts';
import type { Counted, Report, RemedyName } from './report.ts';
import { rowOf, ways } from './report.ts';

/** What the table shows, in sentences whose figures come from it. */

const at = (report: Report, way: RemedyName, phase: 'podGone' | 'attached'): number =>
  medianOf(rowOf(report, way), phase);

const attachedSays = (report: Report, way: RemedyName): string => {
  const value = at(report, way, 'attached');
  return Number.isFinite(value) ? `after ${seconds(value)} s` : `not within ${report.patience} s`;
};

const SLOW: readonly RemedyName[] = ['nothing', 'noSchedule', 'noExecute', 'node', 'all'];

const slowSays = (report: Report): string =>
  [
    'Without Cloudfence, the volume is attached to another node:',
    '',
    ...SLOW.map((way) => `- ${ways[way]}: ${attachedSays(report, way)}`),
  ].join('\n');

const shareOf = (report: Report, way: RemedyName): string => {
  const [gone, attached] = [at(report, way, 'podGone'), at(report, way, 'attached')];
  const rest = `${seconds(attached - gone)} s from there until the volume is attached elsewhere`;
  return `${ways[way]}: ${seconds(gone)} s until the old pod is gone, ${rest}`;
};

const FAST: readonly RemedyName[] = ['floor', 'warm', 'cold', 'cli'];

/**
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/volume/csi/csi_attacher.go:
 * waitForVolumeAttachDetachStatusWithLister
 */
const LUCK =
  'Two runs of one remedy may differ by half a second. ' +
  'Kubernetes checks for the end of a detach after 0.5, 1.0, and 1.6 s, each up to a tenth later at random, ' +
  "and the driver's detach takes 1.03 to 1.07 s. A detach that just misses a check waits for the next one.";

const sharesSay = (report: Report): string =>
  [
    'Until the old pod is gone, the remedy takes the time. ' +
      'After that, the time depends only on Kubernetes and the driver:',
    '',
    ...FAST.map((way) => `- ${shareOf(report, way)}`),
    '',
    LUCK,
  ].join('\n');

const loadedSays = (report: Report): string => {
  const loaded = median(rowOf(report, 'cold').map((played) => played.loaded ?? Number.NaN));
  return (
    `In a cold start, the process and the loading of the function take ${seconds(loaded)} s. ` +
    'The rest of its difference from a warm start is new connections, and code that runs for the first time.'
  );
};

const firstSay = (counted: readonly Counted[]): string => {
  const of = (call: 'any' | 'mark' | 'deletedPod'): string =>
    `${Math.round(1000 * median(counted.map(({ first }) => first[call])))} ms`;
  return (
    'A proxy that counts the calls, and slows them a little, saw these times before the old pod was deleted: ' +
    `first call after ${of('any')}, mark after ${of('mark')}, delete of the pod after ${of('deletedPod')}.`
  );
};

export const reportLines = (report: Report): readonly string[] => [
  slowSays(report),
  sharesSay(report),
  loadedSays(report),
  ...report.sizes.slice(0, 1).map(({ counted }) => firstSay(counted)),
];
