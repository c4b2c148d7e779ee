import { powerInWords } from '../fencing/model/machine.ts';
import { z } from 'zod';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Cause } from './model/cause.ts';
import {
  type DiskView,
  type NodeLocation,
  type PodView,
  type ReadResult,
  type Situation,
  ifFound,
} from './model/facts.ts';
import {
  attachmentAt,
  formatTime,
  holdersOf,
  isInUse,
  describeKubelet,
  nameOf,
  nodeAt,
  podsAt,
  formatDuration,
} from './rules/rule.ts';

/** The answer of a diagnosis, which the CLI and the functions print. docs/diagnose.md documents it. */

const rehearsalSchema = z.object({
  outcome: z.string(),
  reason: z.string(),
  steps: z.array(z.object({ step: z.string(), target: z.string() })),
});

const findingSchema = z.object({
  cluster: z.string(),
  /** Null for a claim or a volume that no pod uses. */
  pod: z.string().nullable(),
  claim: z.string().nullable(),
  cause: z.object({
    kind: z.string(),
    confidence: z.enum(['proved', 'likely', 'cannot-tell']),
    ending: z.enum(['over', 'by-itself', 'by-fence', 'by-person']),
    says: z.string(),
    proof: z.array(z.string()),
    waits: z.string(),
    next: z.array(z.string()),
  }),
  tree: z.array(z.object({ depth: z.number(), what: z.string(), says: z.string() })),
  rehearsal: rehearsalSchema.nullable(),
});

export const answerSchema = z.object({ findings: z.array(findingSchema), unread: z.array(z.string()) });

/** The steps that a fence would take, from a dry run. */
type Rehearsal = z.infer<typeof rehearsalSchema>;
export type FindingJson = z.infer<typeof findingSchema>;
export type AnswerJson = z.infer<typeof answerSchema>;

export interface Finding {
  readonly cluster: string;
  /** `namespace/name`. Null for a claim or a volume that no pod uses. */
  readonly pod: string | null;
  readonly claim: string | null;
  readonly tree: readonly TreeLine[];
  readonly cause: Cause;
  readonly rehearsal: Outcome | null;
}

/** The result of a diagnosis, and everything that could not be read. */
export interface Answer {
  readonly findings: readonly Finding[];
  /** One sentence each. */
  readonly unread: readonly string[];
}

const rehearsalJson = ({ outcome, reason, steps }: Outcome): Rehearsal => ({
  outcome,
  reason: `${reason.code}: ${reason.says}`,
  steps: steps.map(({ step, target }) => ({ step, target })),
});

const findingJson = ({ cluster, pod, claim, tree, cause, rehearsal }: Finding): FindingJson => ({
  cluster,
  pod,
  claim,
  cause: {
    kind: cause.kind,
    confidence: cause.confidence,
    ending: cause.ending,
    says: cause.says,
    proof: [...cause.proof],
    waits: cause.waits,
    next: [...cause.next],
  },
  tree: [...tree],
  rehearsal: rehearsal && rehearsalJson(rehearsal),
});

export const answerJson = ({ findings, unread }: Answer): AnswerJson => ({
  findings: findings.map(findingJson),
  unread: [...unread],
});

const LABEL = 8;
const labelled = (label: string, lines: readonly string[]): readonly string[] =>
  lines.map((text, at) => `${(at === 0 ? label : '').padEnd(LABEL)}${text}`);

const rehearsed = ({ outcome, reason, steps }: Rehearsal): readonly string[] => [
  `cloudfence fence would end as ${outcome}: ` +
    reason.slice(reason.startsWith(`${outcome}: `) ? outcome.length + 2 : 0),
  ...steps.map(({ step, target }) => `${step.padEnd(22)} ${target}`),
];

type Tree = FindingJson['tree'];

/** Returns whether another branch of this depth follows further down. */
const goesOn = (tree: Tree, at: number, depth: number): boolean => {
  const after = tree.slice(at + 1);
  const end = after.findIndex((line) => line.depth < depth);
  return after.slice(0, end === -1 ? undefined : end).some((line) => line.depth === depth);
};

/** Draws the branches in front of a line of the tree. */
const branchesOf = (tree: Tree, at: number): string => {
  const depth = tree[at]?.depth ?? 0;
  return Array.from({ length: depth }, (_, above) => {
    const more = goesOn(tree, at, above + 1);
    if (above + 1 === depth) return more ? '├ ' : '└ ';
    return more ? '│ ' : '  ';
  }).join('');
};

const inWords = { proved: 'proved', likely: 'likely', 'cannot-tell': 'cannot tell' } as const;

const findingLines = ({ cluster, cause, tree, rehearsal }: FindingJson, several: boolean): readonly string[] => [
  ...(several ? [`cluster ${cluster}`] : []),
  ...tree.map(({ what, says }, at) => `${branchesOf(tree, at)}${what}  ${says}`.trimEnd()),
  ...labelled('CAUSE', [`${cause.says} [${inWords[cause.confidence]}: ${cause.kind}]`]),
  ...labelled('PROOF', cause.proof),
  ...labelled('WAITS', [cause.waits]),
  ...labelled('NEXT', cause.next),
  ...labelled('DRY RUN', rehearsal ? rehearsed(rehearsal) : []),
];

/** Returns the answer as text, one line each. */
export const answerLines = ({ findings, unread }: AnswerJson): readonly string[] => {
  const several = new Set(findings.map(({ cluster }) => cluster)).size > 1;
  const parts = findings.map((finding) => findingLines(finding, several));
  return [
    ...(parts.length === 0
      ? ['No pod waits for a volume.']
      : parts.flatMap((part, at) => (at === 0 ? part : ['', ...part]))),
    ...(unread.length === 0 ? [] : ['', ...labelled('UNREAD', unread)]),
  ];
};

/**
 * The facts as a tree: pod, claim, volume, attachment, Node, machine, disk. Each line shows the state of an object, and
 * since when it has that state.
 */

export interface TreeLine {
  readonly depth: number;
  readonly what: string;
  readonly says: string;
}

const at = (depth: number, what: string, says: string): TreeLine => ({ depth, what, says });

const stateOf = (pod: PodView, now: number): string => {
  if (pod.deletionEnds !== null)
    return `Terminating, its grace period ${pod.deletionEnds < now ? 'ended' : 'ends'} ${formatTime(pod.deletionEnds)}`;
  if (pod.finished) return `ended, created ${formatDuration(now - pod.created)} ago`;
  if (pod.ready || pod.runs)
    return `${pod.ready ? 'runs' : 'runs, not ready'}, created ${formatDuration(now - pod.created)} ago`;
  return `${pod.node === null ? 'not placed' : 'not started'} for ${formatDuration(now - pod.created)}`;
};

const podLine = ({ pod, now, claimName }: Situation): TreeLine =>
  at(
    0,
    `pod ${nameOf(pod)}`,
    `${stateOf(pod, now)}${pod.node === null ? '' : ` on ${pod.node}`}` +
      (claimName === null ? '' : `, needs claim ${claimName}`),
  );

const unless = <T extends object>(read: ReadResult<T>, absent: string, says: (found: T) => string): string => {
  if (read === 'unread') return 'could not be read';
  return read === null ? absent : says(read);
};

const claimLine = ({ claim, claimName }: Situation): TreeLine =>
  at(
    1,
    `claim ${claimName ?? ''}`,
    unless(claim, 'does not exist', ({ phase, accessModes, deleting }) =>
      [phase, accessModes.join('+'), ...(deleting ? ['is being deleted'] : [])].join(', '),
    ),
  );

const volumeLine = ({ volume, claim }: Situation): TreeLine =>
  at(
    2,
    `volume ${ifFound(claim)?.volumeName ?? ''}`,
    unless(volume, 'does not exist', ({ handle, kind, zones, hosts }) =>
      [handle ? `${handle.driver} ${handle.handle}` : kind, ...zones, ...hosts].join(', '),
    ),
  );

const attachmentLine = (location: NodeLocation, situation: Situation): TreeLine => {
  const { now } = situation;
  const attachment = attachmentAt(location);
  const pods = podsAt(location, situation).map(nameOf);
  const state = attachment && [
    attachment.attached ? 'attached' : 'not attached yet',
    `since ${formatTime(attachment.created)}`,
    ...(attachment.deletingSince === null
      ? []
      : [`detach requested ${formatDuration(now - attachment.deletingSince)} ago`]),
    ...(attachment.attachError ? [`attachError ${formatDuration(now - attachment.attachError.at)} ago`] : []),
    ...(attachment.detachError ? [`detachError ${formatDuration(now - attachment.detachError.at)} ago`] : []),
  ];
  const users =
    location.nodeName === situation.pod.node
      ? []
      : [pods.length === 0 ? 'no pod uses it' : `used by ${pods.join(', ')}`];
  const isOwn = location.nodeName === situation.pod.node;
  const mounted = isInUse(location, situation) && (attachment || !isOwn) ? ['the kubelet lists it as mounted'] : [];
  return at(
    3,
    attachment ? `attachment to ${location.nodeName}` : `no attachment to ${location.nodeName}`,
    [...(state ?? []), ...users, ...mounted].join(', '),
  );
};

const machineLine = ({ machine, power }: NodeLocation): TreeLine =>
  at(
    5,
    `machine ${machine ?? ''}`,
    unless(
      power,
      'is not known',
      ({ power: state, evidence }) =>
        `${powerInWords(state)} (${Object.values(evidence)[0] ?? powerInWords(state)}), asked now`,
    ),
  );

const locationLines = (location: NodeLocation, situation: Situation): readonly TreeLine[] => [
  attachmentLine(location, situation),
  at(
    4,
    `Node ${location.nodeName}`,
    nodeAt(location)
      ? describeKubelet(location, situation.now).replace(/^Node \S+ is /, '')
      : location.node === 'unread'
        ? 'could not be read'
        : 'does not exist',
  ),
  ...(location.machine === null ? [] : [machineLine(location)]),
];

const diskSays = ({ exists, state, zone, holders }: DiskView): string => {
  if (!exists) return 'the cloud does not know it';
  const by = holders.map(
    ({ machine, state: how, since }) =>
      `${how} ${how === 'attached' ? 'to' : 'at'} ${machine}${since === null ? '' : ` since ${formatTime(since)}`}`,
  );
  return [state, ...(zone === null ? [] : [zone]), ...(by.length === 0 ? ['attached to no machine'] : by)].join(', ');
};

const diskLines = ({ disk, diskId }: Situation): readonly TreeLine[] =>
  diskId === null ? [] : [at(3, `disk ${diskId}`, unless(disk, 'is not known', diskSays))];

/** Returns the lines of the tree. The holders of the volume come before the pod's own Node. */
export const causeTree = (situation: Situation): readonly TreeLine[] => {
  const { claimName, claim, volume, target } = situation;
  if (claimName === null)
    return [
      podLine(situation),
      ...(target
        ? locationLines(target, situation)
            .slice(1)
            .map((one) => ({ ...one, depth: one.depth - 3 }))
        : []),
    ];
  const locations = [...holdersOf(situation), ...(target ? [target] : [])];
  return [
    podLine(situation),
    claimLine(situation),
    ...(ifFound(claim)?.volumeName ? [volumeLine(situation)] : []),
    ...(volume === null ? [] : locations.flatMap((location) => locationLines(location, situation))),
    ...diskLines(situation),
  ];
};
