import type { DrillEnd, DrillResult } from './tools.ts';
import { msOf, type Reached } from './phases.ts';
import { onOneLine } from '../fencing/model/reason.ts';
import { type ProofOptions, proofsOf } from './proofs.ts';

/** What a drill says at its end: to people, to programs, and in a file. Pure. */

export interface DrillReport extends DrillResult {
  readonly node: string;
  readonly cluster: string;
  readonly machine: string;
  /** The longest time that the recovery may take (ms), or null. */
  readonly threshold: number | null;
  readonly proofs: ProofOptions;
}

/** Returns the time from the request of the stop until the canary ran elsewhere (ms), or null if it did not. */
const recoveryMs = ({ recovery }: DrillResult): number | null => msOf(recovery, 'running');

/** Returns whether the recovery took longer than it may. */
export const isTooSlow = (report: DrillReport): boolean =>
  report.threshold !== null && report.end === 'recovered' && (recoveryMs(report) ?? Infinity) > report.threshold;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const titles: Readonly<Record<DrillEnd, string>> = {
  recovered: 'recovered',
  'not-recovered': 'not recovered',
  refused: 'refused',
  declined: 'not begun',
  checked: 'dry run: may begin',
  failed: 'failed',
  interrupted: 'interrupted',
};

const verdict = (report: DrillReport): string => {
  const ms = recoveryMs(report);
  if (report.end !== 'recovered' || ms === null) return titles[report.end];
  const limit =
    report.threshold === null
      ? ''
      : `, ${isTooSlow(report) ? 'over' : 'within'} the threshold of ${seconds(report.threshold)}`;
  return `recovered in ${seconds(ms)}${limit}`;
};

interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

const phaseLines = (phases: readonly Reached[]): readonly string[] =>
  phases.map(({ ms, says }) => `${seconds(ms)}: ${says}`);

const sections = (report: DrillReport): readonly Section[] => {
  const { proved, unproved } = proofsOf(report, report.proofs);
  const ran = report.stoppedAt !== null;
  return [
    { title: 'Refused because', lines: report.refusals.map(({ says, remedy }) => `${says}: ${remedy}`) },
    { title: 'After the request to stop the machine', lines: phaseLines(report.recovery) },
    { title: 'After the request to start it', lines: phaseLines(report.restart) },
    { title: 'Left behind', lines: report.left.map(({ says, remedy }) => `${says}: ${remedy}`) },
    { title: 'This account proved what no stand-in can', lines: ran ? proved : [] },
    { title: 'Not proved', lines: ran ? unproved : [] },
  ]
    .map(({ title, lines }) => ({ title, lines: lines.map(onOneLine) }))
    .filter(({ lines }) => lines.length > 0);
};

const summary = ({ node, cluster, machine, says }: DrillReport): string =>
  onOneLine(`Node ${node} in ${cluster}, ${machine}: ${says}.`);

/** Returns the report for a terminal. */
export const drillLines = (report: DrillReport): readonly string[] => [
  `drill: ${verdict(report)}`,
  `  ${summary(report)}`,
  ...sections(report).flatMap(({ title, lines }) => [`${title}:`, ...lines.map((line) => `  ${line}`)]),
];

/** Markdown gives these characters a meaning. Names in a report may contain them. */
const plain = (text: string): string => text.replaceAll(/[\\*_[\]<>|]/g, (character) => `\\${character}`);

/** Returns the report as Markdown. */
export const drillMarkdown = (report: DrillReport): string => {
  const began =
    report.stoppedAt === null ? [] : [`The machine was stopped at ${new Date(report.stoppedAt).toISOString()}.`];
  const body = sections(report).flatMap(({ title, lines }) => [
    '',
    `## ${title}`,
    '',
    ...lines.map((line) => `- ${plain(line)}`),
  ]);
  return `${[`# Drill: ${verdict(report)}`, '', plain(summary(report)), ...began, ...body].join('\n')}\n`;
};

const phasesJson = (phases: readonly Reached[]): object =>
  Object.fromEntries(phases.map(({ phase, ms }) => [phase, ms]));

/** Returns the report for programs. */
export const drillJson = (report: DrillReport): object => ({
  drill: report.end,
  says: report.says,
  node: report.node,
  cluster: report.cluster,
  machine: report.machine,
  fencedHere: report.proofs.fencedHere,
  stoppedAt: report.stoppedAt === null ? null : new Date(report.stoppedAt).toISOString(),
  afterStop: phasesJson(report.recovery),
  afterStart: phasesJson(report.restart),
  movedTo: report.movedTo,
  recoveryMs: recoveryMs(report),
  thresholdMs: report.threshold,
  withinThreshold: report.threshold === null || report.end !== 'recovered' ? null : !isTooSlow(report),
  refusals: report.refusals,
  left: report.left,
  evidence: report.facts?.machine.evidence ?? {},
  ...proofsOf(report, report.proofs),
});
