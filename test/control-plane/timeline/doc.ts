import type { Aim } from './aims.ts';
import { aimsOf, inWords } from './aims.ts';
import type { Machine } from './machine.ts';
import { readingOf } from './reading.ts';
import type { Report } from './report.ts';
import { sizeTable } from './sizes.ts';
import { asMarkdown, recoveryTable } from './table.ts';

/** docs/recovery.md, whose figures all come from one run. */

const madeBy = ({ command, date, machine: { cores, processor, memoryGb, load, versions } }: Report): string =>
  [
    `Written by \`${command}\` on ${date}; do not edit it, measure again.`,
    `Machine: ${cores} cores (${processor}), ${memoryGb} GB. Load before and after: ${load.before.toFixed(1)}, ${load.after.toFixed(1)}${crowded(load, cores)}.`,
    `Versions: ${Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ')}.`,
  ].join('\n');

const crowded = ({ before }: Machine['load'], cores: number): string =>
  before > cores / 2 ? ': others were at work on it, which makes all figures worse than they are' : '';

const SETTING = `A database of one replica (StatefulSet) on one ReadWriteOnce EBS volume, two nodes, a real Kubernetes control plane with its default
timings, the CSI attacher with the EBS chart's values, and a driver that batches and polls as the EBS driver does (0.5 s each time).
EC2 is the moto server behind a proxy that refuses what EC2 refuses: it stops, detaches and attaches at once, where the real one
takes seconds of its own. Kubelets are stand-ins that start a pod as soon as its volume is there. Nothing else is simulated.

The instance is stopped; then the clock starts, and the remedy with it: for Cloudfence at the moment at which the event is handed to the
packaged AWS handler, in a process that has fenced before (warm) or that is only then started (cold). Moments are seen by watches
at the API server, and at EC2 by asking every 50 ms (500 ms for the slow ways). Where there are several runs they take turns, and the figure is their median.`;

const legend = ({ patience }: Report): string => `Seconds after the remedy began; – is "not seen", for the slow ways within ${patience} s.`;

const RAISED = `The same control plane, but for the controller manager's limit on its own API calls, which is raised, and its patience with silent
kubelets, which is made endless: all Nodes but two have no machine and no kubelet, and it would be busy with them for minutes.
The floor of the same cluster says what of the time is Kubernetes' own. Calls are those of the run that had to look least often
while Kubernetes was at work; each further look makes some more, among few Nodes and among many.`;

const notRun = ({ patience }: Report): string =>
  patience > 600
    ? 'The slow ways were watched as long as Kubernetes takes at the most.'
    : `The slow ways were watched for ${patience} s only: \`npm run e2e:timeline -- --long\` waits for all of Kubernetes' own timers, some seven minutes.`;

const listed = (aims: readonly Aim[]): string => aims.map((aim) => `- ${inWords(aim)}`).join('\n');

const sized = ({ sizes }: Report): readonly string[] => (sizes.length < 2 ? [] : ['## In a large cluster', RAISED, asMarkdown(sizeTable(sizes))]);

export const documentOf = (report: Report): string =>
  [
    '# How long a recovery takes',
    madeBy(report),
    '## The same crash, by what is done about it',
    legend(report),
    asMarkdown(recoveryTable(report)),
    notRun(report),
    '## Aims',
    listed(aimsOf(report)),
    '## What it says',
    readingOf(report).join('\n\n'),
    ...sized(report),
    '## How it is measured',
    SETTING,
  ].join('\n\n') + '\n';
