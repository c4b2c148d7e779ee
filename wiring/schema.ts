import { z } from 'zod';
import { defaultPolicy, type Policy } from '../fencing/policy.ts';
import { clusterEntry } from './cluster-entry.ts';
import { duration } from './duration.ts';

/** What people write in the configuration file; `docs/configuration.md` explains each line. */

const PERCENT = /^(\d+(?:\.\d+)?) ?%$/;

/** A share of a cluster's Nodes, as `0.49` or as `49%`. */
const share = z.preprocess((written) => {
  const [, percent] = typeof written === 'string' ? (PERCENT.exec(written) ?? []) : [];
  return percent === undefined ? written : Number(percent) / 100;
}, z.number().min(0).max(1));

const policy = z
  .strictObject({
    fenceAfter: duration.default(defaultPolicy.fenceAfter),
    detach: z.enum(['when-stuck', 'always', 'never']).default(defaultPolicy.detach),
    deleteNode: z.enum(['when-terminated', 'always', 'never']).default(defaultPolicy.deleteNode),
    unreachable: z.enum(['report', 'power-off']).default(defaultPolicy.unreachable),
    optOut: z.enum(['pods', 'nodes', 'none']).default(defaultPolicy.optOut),
    vouching: z.enum(['refused', 'accepted']).default(defaultPolicy.vouching),
    cap: z
      .strictObject({
        share: share.default(defaultPolicy.cap.share),
        atOnce: share.default(defaultPolicy.cap.atOnce),
        nodes: z.never({ error: 'is gone, for a number of Nodes says nothing of a cluster: set cap.share (fenced within 15 minutes) and cap.atOnce (unfinished at a time), shares of all Nodes and never less than one' }).optional(),
      })
      .transform(({ share, atOnce }) => ({ share, atOnce }))
      .prefault({}),
  })
  .prefault({});

const ROLE = /^arn:aws[a-z-]*:iam::(\d{12}):role\/[\w+=,.@/-]+$/;

/** Another account or region whose machines are served; docs/aws.md, "Accounts and regions". */
const territory = z
  .strictObject({
    account: z.string().regex(/^\d{12}$/, 'is no account number: write its 12 digits in quotes'),
    region: z.string().regex(/^[a-z]{2,}(?:-[a-z]+)+-\d+$/, 'is no region'),
    /** Left out, it is our own account in another region. */
    role: z.string().regex(ROLE, 'is no ARN of an IAM role').optional(),
    externalId: z.string().regex(/^[\w+=,.@:/-]{2,1224}$/, 'is no external id that STS takes').optional(),
    endpoint: z.url({ protocol: /^https?$/ }).optional(),
  })
  .superRefine(({ account, role, externalId }, context) => {
    const owner = ROLE.exec(role ?? '')?.[1];
    if (owner !== undefined && owner !== account) context.addIssue({ code: 'custom', path: ['role'], message: `is a role of account ${owner}, not of ${account}` });
    if (role === undefined && externalId !== undefined) context.addIssue({ code: 'custom', path: ['externalId'], message: 'is for a role, and there is none' });
  });

const namedTwice = (names: readonly string[]): readonly string[] => [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];

export const configuration = z
  .strictObject({
    /** Left out, each machine's own id tells. */
    cloud: z.string().min(1).optional(),
    region: z.string().min(1).optional(),
    /** The reason for which everything is paused. */
    pause: z.string().min(1).optional(),
    /** React to everything, write nothing. */
    shadow: z.boolean().default(false),
    policy,
    clusters: z.array(clusterEntry).default([]),
    territories: z.array(territory).default([]),
  })
  .superRefine(({ clusters, territories }, context) => {
    for (const name of namedTwice(clusters.map(({ name: one }) => one))) {
      context.addIssue({ code: 'custom', path: ['clusters'], message: `two clusters are named "${name}"` });
    }
    for (const place of namedTwice(territories.map(({ account, region }) => `${account} ${region}`))) {
      context.addIssue({ code: 'custom', path: ['territories'], message: `${place} is named twice` });
    }
  });

export type Configuration = z.infer<typeof configuration>;

export const policyOf = ({ pause, shadow, policy: rules }: Configuration, dryRun: boolean): Policy => ({
  ...rules,
  paused: pause ?? null,
  dryRun: dryRun || shadow,
});
