import { z } from 'zod';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Cause } from './model/cause.ts';
import type { TreeLine } from './tree.ts';

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
export type Rehearsal = z.infer<typeof rehearsalSchema>;
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
  `cloudfence fence would end as ${outcome}: ${reason.slice(reason.startsWith(`${outcome}: `) ? outcome.length + 2 : 0)}`,
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
