import { z } from 'zod';
import { nonEmptyText, quoteBeginning } from '../fencing/model/foreign-text.ts';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { defaultPolicy, type Policy } from '../fencing/model/policy.ts';
import { clusterEntrySchema } from '../providers/cluster-entries.ts';

/** The schema of the configuration file, and of the configuration of functions. */

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** A year. A longer time is a mistake, and its end could not be represented as a date. */
const LONGEST_DURATION_MS = 365 * units.d;

/** Parses a duration such as `90s` or `10m`. Returns ms, or null if the text is not a duration of at most a year. */
export const parseDuration = (text: string): number | null => {
  const [, amount, unit] = DURATION.exec(text.trim()) ?? [];
  if (amount === undefined || unit === undefined) return null;
  const entry = Object.entries(units).find(([name]) => name === unit);
  const ms = entry ? Number(amount) * entry[1] : Infinity;
  return ms <= LONGEST_DURATION_MS ? ms : null;
};

/** The pattern of a duration, for editors. */
const duration = z.string().meta({ pattern: DURATION.source, description: 'a duration such as 90s, 10m, or 1h' });

export const durationSchema = duration.transform((text, context) => {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  context.addIssue({
    code: 'custom',
    message:
      `${quoteBeginning(text)} is not a duration: write a number and ms, s, m, h or d, such as 90s, ` +
      'and at most 365d',
  });
  return z.NEVER;
});

/** The schema of the configuration file. `docs/configuration.md` explains every setting. */

const PERCENT = /^(\d+(?:\.\d+)?) ?%$/;

/** A share of a cluster's Nodes, as `0.49` or as `49%`. */
const share = z.preprocess(
  (written) => {
    const [, percent] = typeof written === 'string' ? (PERCENT.exec(written) ?? []) : [];
    return percent === undefined ? written : Number(percent) / 100;
  },
  z
    .number()
    .min(0)
    .max(1)
    .meta({ type: ['number', 'string'], pattern: PERCENT.source }),
);

const policy = z
  .strictObject({
    fenceAfter: durationSchema.default(defaultPolicy.fenceAfter),
    detach: z.enum(['when-stuck', 'always', 'never']).default(defaultPolicy.detach),
    deleteNode: z.enum(['when-terminated', 'always', 'never']).default(defaultPolicy.deleteNode),
    unreachable: z.enum(['report', 'power-off']).default(defaultPolicy.unreachable),
    optOut: z.enum(['pods', 'nodes', 'none']).default(defaultPolicy.optOut),
    vouching: z.enum(['refused', 'accepted']).default(defaultPolicy.vouching),
    cap: z
      .strictObject({
        share: share.default(defaultPolicy.cap.share),
        atOnce: share.default(defaultPolicy.cap.atOnce),
        nodes: z
          .never({
            error:
              'is no longer supported: set cap.share (Nodes fenced within 15 minutes) and cap.atOnce ' +
              '(unfinished fences) as shares of all Nodes; each allows at least one Node',
          })
          .optional(),
      })
      .transform(({ share, atOnce }) => ({ share, atOnce }))
      .prefault({}),
  })
  .prefault({});

const ROLE = /^arn:aws[a-z-]*:iam::(\d{12}):role\/[\w+=,.@/-]+$/;

/** An additional account or region whose machines are served. See docs/aws.md, "Accounts and regions". */
const territory = z
  .strictObject({
    account: z.string().regex(/^\d{12}$/, 'is not an account number: write its 12 digits in quotes'),
    region: z.string().regex(/^[a-z]{2,}(?:-[a-z]+)+-\d+$/, 'is not a region: write one such as eu-west-1'),
    /** If left out, the entry is for the install's own account in another region. */
    role: z.string().regex(ROLE, 'is not the ARN of an IAM role').optional(),
    externalId: z
      .string()
      .regex(/^[\w+=,.@:/-]{2,1224}$/, 'is not a valid external id for STS')
      .optional(),
    endpoint: z.url({ protocol: /^https?$/ }).optional(),
  })
  .superRefine(({ account, role, externalId }, context) => {
    const owner = ROLE.exec(role ?? '')?.[1];
    if (owner !== undefined && owner !== account)
      context.addIssue({ code: 'custom', path: ['role'], message: `is a role in account ${owner}, not in ${account}` });
    if (role === undefined && externalId !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['externalId'],
        message: 'requires a role: add `role`, or remove `externalId`',
      });
  });

/** A region becomes part of a host name. */
export const REGION_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const duplicates = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter((name, at) => names.indexOf(name) !== at)),
];

export const configurationSchema = z
  .strictObject({
    /** If left out, each machine's id determines its cloud. */
    cloud: nonEmptyText.optional(),
    region: z.string().regex(REGION_PATTERN, 'is not a region: write one such as eu-west-1').optional(),
    /** The reason why everything is paused. */
    pause: nonEmptyText.optional(),
    /** Handles every event but begins no fence. It still removes what an earlier fence left. */
    shadow: z.boolean().default(false),
    policy,
    clusters: z.array(clusterEntrySchema).default([]),
    territories: z.array(territory).default([]),
    /** Where the CLI reads and stores incidents. Functions do not need it. */
    incidents: nonEmptyText.optional(),
  })
  .superRefine(({ clusters, territories }, context) => {
    for (const name of duplicates(clusters.map(({ name: one }) => one))) {
      context.addIssue({
        code: 'custom',
        path: ['clusters'],
        message: `two clusters have the name ${quoteBeginning(name)}: give each cluster its own name`,
      });
    }
    for (const territory of duplicates(territories.map(({ account, region }) => `${account} ${region}`))) {
      context.addIssue({ code: 'custom', path: ['territories'], message: `${territory} is listed twice` });
    }
  });

export type Configuration = z.infer<typeof configurationSchema>;

export const policyOf = ({ pause, shadow, policy: rules }: Configuration, dryRun: boolean): Policy => ({
  ...rules,
  paused: pause ?? null,
  dryRun,
  shadow,
});

/**
 * Returns the issues of the union member that the author probably meant. All members report issues. The one whose
 * issues are deepest and fewest is used.
 */
const issuesOfClosestMember = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] => {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const [meant = []] = [...issue.errors].sort((a, b) => a.length - b.length);
  return meant.flatMap((inner) => issuesOfClosestMember({ ...inner, path: [...issue.path, ...inner.path] }));
};

/**
 * Returns the message of an issue. Shortens an unknown key to its first letters, because the key may be a token, or a
 * line with one that has no space after the colon.
 */
const messageOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys'
    ? `has unknown keys: ${issue.keys.map((key) => `"${/^[a-z_-]{0,20}/i.exec(key)?.[0] ?? ''}"`).join(', ')}; ` +
      'docs/configuration.md lists the known ones'
    : issue.message;

const inWords =
  (source: string) =>
  (issue: z.core.$ZodIssue): string => {
    const path = issue.path.map(String).join('.');
    return `${source}${path === '' ? '' : `, at ${path}`}: ${messageOf(issue)}`;
  };

const NO_VALUE = 'has no value, so its settings may be lost: restore them, or write `{}` to use the defaults';

/**
 * Validates a configuration. `source` names it in messages. A text without a value is null here. It is rejected,
 * because a full disk may have cut it off, and the defaults would end a pause or shadow mode.
 * @throws InvalidConfiguration with all faults at once
 */
export const configurationFrom = (raw: unknown, source: string): Configuration => {
  if (raw === null) throw new InvalidConfiguration([`${source}: ${NO_VALUE}`]);
  const read = configurationSchema.safeParse(raw);
  if (read.success) return read.data;
  throw new InvalidConfiguration(read.error.issues.flatMap(issuesOfClosestMember).map(inWords(source)));
};
