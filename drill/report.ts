import type { DrillEnd, DrillResult } from './tools.ts';
import { msOf, type ReachedPhase } from './phases.ts';
import { onOneLine } from '../fencing/model/reason.ts';

/** The report of a drill, for people, for programs, and for a file. Pure. */

export interface Proofs {
  readonly proved: readonly string[];
  readonly unproved: readonly string[];
}

interface ProofOptions {
  /** Whether the command itself fenced, so that no function was tested. */
  readonly fencedHere: boolean;
}

/** For this long after the stop (ms), no sweep treats the Node as silent, because its Lease was fresh at the stop. */
const NO_SWEEP_MS = 50_000;

const actorOf = ({ fencedHere }: ProofOptions): string =>
  fencedHere ? 'your own credentials' : 'the credentials of the functions';

const deliveryClaims = ({ recovery }: DrillResult, { fencedHere }: ProofOptions): readonly string[] => {
  const [off, marked] = [msOf(recovery, 'off'), msOf(recovery, 'marked')];
  if (fencedHere || off === null || marked === null) return [];
  const delay = `${(Math.max(0, marked - off) / 1_000).toFixed(1)} s`;
  return [
    marked < NO_SWEEP_MS
      ? `the event of this account arrives: the Node was marked ${delay} after the cloud said off, sooner than a ` +
        'sweep looks for it'
      : `an event or the sweep finds a machine that is off: the Node was marked ${delay} after the cloud said off`,
  ];
};

const proved = (result: DrillResult, options: ProofOptions): readonly string[] => {
  const { recovery, restart, facts } = result;
  const reached = (phase: Parameters<typeof msOf>[1]): boolean => msOf([...recovery, ...restart], phase) !== null;
  const claims: readonly (readonly [boolean, string])[] = [
    [reached('off'), `the API answers this version of Cloudfence: ${facts?.drilledMachine.calls.join(', ') ?? ''}`],
    [reached('off'), 'your own credentials may stop this machine'],
    [reached('up'), 'your own credentials may start this machine'],
    [reached('marked'), `${actorOf(options)} may read this machine, and mark its Node`],
    [reached('marked') && reached('pod-deleted'), `${actorOf(options)} may delete the pods of the Node`],
    [
      reached('detached') && reached('attached'),
      'the CSI driver detaches a volume from a machine that is off, and attaches it elsewhere',
    ],
    [reached('released'), 'a fresh boot is recognized, and the fence is released'],
  ];
  return [...claims.filter(([holds]) => holds).map(([, says]) => says), ...deliveryClaims(result, options)];
};

const NEVER = [
  'a detach through the cloud API, which a fence needs only if Kubernetes does not detach by itself ' +
    '(`cloudfence doctor` checks the permission)',
  'a machine that is gone for good, and a machine that runs out of reach',
  'other accounts, regions, zones, and machine types',
] as const;

/** Lists what the drill has proved in the account. A stand-in for the cloud proves nothing about an account. */
const proofsOf = (result: DrillResult, options: ProofOptions): Proofs => {
  const standIn = result.facts?.drilledMachine.standIn ?? null;
  if (standIn !== null)
    return {
      proved: [],
      unproved: [`anything about an account: ${standIn} answered in the place of the cloud`, ...NEVER],
    };
  const functions = options.fencedHere ? ['the deployed functions: the command itself fenced (`--fence-here`)'] : [];
  return { proved: proved(result, options), unproved: [...functions, ...NEVER] };
};

export interface DrillReport extends DrillResult {
  readonly node: string;
  readonly cluster: string;
  readonly machine: string;
  /** The longest acceptable time of the recovery (ms), or null. */
  readonly threshold: number | null;
  readonly proofs: ProofOptions;
}

/** Returns the time from the request of the stop until the canary ran elsewhere (ms), or null if it did not. */
const recoveryMs = ({ recovery }: DrillResult): number | null => msOf(recovery, 'running');

/** Returns whether the recovery exceeded the threshold. */
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

const phaseLines = (phases: readonly ReachedPhase[]): readonly string[] =>
  phases.map(({ ms, says }) => `${seconds(ms)}: ${says}`);

const sections = (report: DrillReport): readonly Section[] => {
  const { proved, unproved } = proofsOf(report, report.proofs);
  const ran = report.stoppedAt !== null;
  return [
    { title: 'Refused because', lines: report.refusals.map(({ says, remedy }) => `${says}: ${remedy}`) },
    { title: 'After the request to stop the machine', lines: phaseLines(report.recovery) },
    { title: 'After the request to start it', lines: phaseLines(report.restart) },
    { title: 'Left behind', lines: report.left.map(({ says, remedy }) => `${says}: ${remedy}`) },
    { title: 'Proved in this account (a stand-in cannot prove this)', lines: ran ? proved : [] },
    { title: 'Not proved', lines: ran ? unproved : [] },
  ]
    .map(({ title, lines }) => ({ title, lines: lines.map(onOneLine) }))
    .filter(({ lines }) => lines.length > 0);
};

/** The reasons of a refusal are in a section of their own. */
const summary = ({ node, cluster, machine, says, refusals }: DrillReport): string =>
  onOneLine(`Node ${node} in ${cluster}, ${machine}: ${refusals.length > 0 ? 'nothing was stopped' : says}.`);

/** Returns the report for a terminal. */
export const drillLines = (report: DrillReport): readonly string[] => [
  `drill: ${verdict(report)}`,
  `  ${summary(report)}`,
  ...sections(report).flatMap(({ title, lines }) => [`${title}:`, ...lines.map((line) => `  ${line}`)]),
];

/** Escapes characters with a meaning in Markdown. Names in a report may contain them. */
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

const phasesJson = (phases: readonly ReachedPhase[]): object =>
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
