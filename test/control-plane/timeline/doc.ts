import type { Aim } from './aims.ts';
import { aimsOf, inWords } from './aims.ts';
import type { Machine } from './machine.ts';
import { reportLines } from './reading.ts';
import type { Report } from './report.ts';
import { sizeTable } from './sizes.ts';
import { asMarkdown, recoveryTable } from './table.ts';

/** Writes docs/recovery.md. All its numbers come from one run. */

const madeBy = ({ command, date, machine: { cores, processor, memoryGb, load, versions } }: Report): string =>
  [
    `Written by \`${command}\` on ${date}. Do not edit this page: measure again. Another command measures what follows "At a distance".`,
    `Machine: ${cores} cores (${processor}), ${memoryGb} GB. Load before and after: ${load.before.toFixed(1)}, ${load.after.toFixed(1)}${crowded(load, cores)}.`,
    `Versions: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}.`,
  ].join('\n');

const crowded = ({ before }: Machine['load'], cores: number): string =>
  before > cores / 2 ? ': other programs ran on it, so all figures are worse than without them' : '';

const SETTING = `\
The setup is a database with one replica (StatefulSet) on one ReadWriteOnce EBS volume, two nodes, and a real Kubernetes control plane with its default timings.
The CSI attacher runs with the values of the EBS driver's Helm chart. The driver batches and polls every 0.5 s, as the EBS driver does.
EC2 is the moto server behind a proxy that refuses what EC2 refuses.
It stops, detaches, and attaches at once. The real EC2 takes some seconds more.
Kubelets are stand-ins that start a pod as soon as its volume is there.
Nothing else is simulated.

The measurement stops the instance. Then the clock and the remedy start.
For Cloudfence, this is the moment when the packaged AWS handler gets the event, in a process that has fenced before (warm) or that starts only then (cold).
The times come from watches at the API server, and from a request to EC2 every 50 ms (500 ms for the slow remedies).
Each figure is the median of several runs, which take turns.`;

const legend = ({ patience }: Report): string =>
  `Seconds after the start of the remedy; – means "not seen", for the slow remedies within ${patience} s.`;

const RAISED = `The control plane is the same, with two differences.
The controller manager has a higher limit on its own API calls, and never treats a kubelet as silent, because the Nodes without a kubelet (all except two) would keep it busy for minutes.
The floor of the same cluster shows how much of the time Kubernetes takes.
The calls are those of the run that looked least often while Kubernetes worked. Each further look makes some more calls, with few Nodes and with many.`;

const notRun = ({ patience }: Report): string =>
  patience > 600
    ? 'The slow remedies were watched for as long as Kubernetes takes at most.'
    : `The slow remedies were watched for ${patience} s only: \`npm run e2e:timeline -- --long\` waits for all of ` +
      "Kubernetes' own timers, about seven minutes.";

const listed = (aims: readonly Aim[]): string => aims.map((aim) => `- ${inWords(aim)}`).join('\n');

const sized = ({ sizes }: Report): readonly string[] =>
  sizes.length < 2 ? [] : ['## In a large cluster', RAISED, asMarkdown(sizeTable(sizes))];

/** Begins the part of the page that another measurement writes. */
const OTHERS = '\n## At a distance\n';

/** Returns the part of the present page that this measurement does not write. */
export const othersPart = (page: string): string => {
  const at = page.indexOf(OTHERS);
  return at === -1 ? '' : page.slice(at);
};

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
    '## What the table shows',
    reportLines(report).join('\n\n'),
    ...sized(report),
    '## How it is measured',
    SETTING,
  ].join('\n\n') + '\n';
