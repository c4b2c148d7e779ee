import type { Aim } from './aims.ts';
import { aimsOf, inWords } from './aims.ts';
import type { Machine } from './machine.ts';
import { reportLines } from './reading.ts';
import type { Report } from './report.ts';
import { sizeTable } from './sizes.ts';
import { asMarkdown, recoveryTable } from './table.ts';

/** Writes docs/recovery.md, whose figures all come from one run. */

const madeBy = ({ command, date, machine: { cores, processor, memoryGb, load, versions } }: Report): string =>
  [
    `Written by \`${command}\` on ${date}; do not edit it, measure again.`,
    `Machine: ${cores} cores (${processor}), ${memoryGb} GB. Load before and after: ${load.before.toFixed(1)}, ${load.after.toFixed(1)}${crowded(load, cores)}.`,
    `Versions: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}.`,
  ].join('\n');

const crowded = ({ before }: Machine['load'], cores: number): string =>
  before > cores / 2 ? ': others were at work on it, which makes all figures worse than they are' : '';

const SETTING = `The setup is a database of one replica (StatefulSet) on one ReadWriteOnce EBS volume, two nodes, and a real Kubernetes control plane with its default timings.
The CSI attacher runs with the EBS chart's values, and the driver batches and polls as the EBS driver does (0.5 s each time).
EC2 is the moto server behind a proxy that refuses what EC2 refuses.
It stops, detaches, and attaches at once; the real EC2 takes seconds of its own.
Kubelets are stand-ins that start a pod as soon as its volume is there.
Nothing else is simulated.

The measurement stops the instance; then the clock starts, and the remedy with it.
For Cloudfence that is the moment at which the packaged AWS handler gets the event, in a process that has fenced before (warm) or that is only then started (cold).
Watches at the API server see the moments, and at EC2 a question every 50 ms (500 ms for the slow ways).
Several runs take turns, and the figure is their median.`;

const legend = ({ patience }: Report): string =>
  `Seconds after the remedy began; – is "not seen", for the slow ways within ${patience} s.`;

const RAISED = `The control plane is the same, with two differences.
The controller manager has a higher limit on its own API calls, and endless patience with silent kubelets: all Nodes but two have no machine and no kubelet, and it would be busy with them for minutes.
The floor of the same cluster shows how much of the time is Kubernetes' own.
Calls are those of the run that had to look least often while Kubernetes was at work; each further look makes some more, among few Nodes and among many.`;

const notRun = ({ patience }: Report): string =>
  patience > 600
    ? 'The measurement watched the slow ways for as long as Kubernetes takes at most.'
    : `The measurement watched the slow ways for ${patience} s only: \`npm run e2e:timeline -- --long\` waits for all of Kubernetes' own timers, some seven minutes.`;

const listed = (aims: readonly Aim[]): string => aims.map((aim) => `- ${inWords(aim)}`).join('\n');

const sized = ({ sizes }: Report): readonly string[] =>
  sizes.length < 2 ? [] : ['## In a large cluster', RAISED, asMarkdown(sizeTable(sizes))];

export const documentOf = (report: Report): string =>
  [
    '# How long a recovery takes',
    madeBy(report),
    '## The same crash under each remedy',
    legend(report),
    asMarkdown(recoveryTable(report)),
    notRun(report),
    '## Aims',
    listed(aimsOf(report)),
    '## What it says',
    reportLines(report).join('\n\n'),
    ...sized(report),
    '## How it is measured',
    SETTING,
  ].join('\n\n') + '\n';
