import { z } from 'zod';
import { duration } from '../../config/schema.ts';
import { ONLY_TAGGED } from '../../providers/aws/plugin/permission-tags.ts';

/** What infra/aws/parameters.yml and a stage's file may say beside the configuration of the functions. */

const MINUTE = 60_000;
const arnOf = (service: string, form: string) => z.string().regex(new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]+:\\d{12}:`), `is no ARN of ${form}`);
const orNull = <T extends z.ZodType>(schema: T) => schema.nullable();

const between = (least: number, most: number, words: string) =>
  duration.refine((ms) => ms >= least && ms <= most, `must be from ${words}`);

const wholeMinutes = between(MINUTE, 60 * MINUTE, '1m to 60m').refine((ms) => ms % MINUTE === 0, 'must be whole minutes');

/** https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html */
const retention = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653] as const;

export const deploymentParameters = z
  .strictObject({
    region: orNull(z.string().regex(/^[a-z]{2,}(?:-[a-z]+)+-\d+$/, 'is no region, such as eu-west-1')),
    spotInterruption: z.boolean(),
    rebalanceRecommendation: z.boolean(),
    autoScaling: z.boolean(),
    health: z.boolean(),
    cloudTrail: z.boolean(),
    testSource: orNull(z.string().regex(/^(?!aws\.)[\w.-]+$/, 'must be a name of your own, not one that begins with aws.')),
    archiveDays: z.int().min(0),
    sweepEvery: wholeMinutes,
    sweepAlone: z.boolean(),
    maximumConcurrency: z.int().min(2).max(1_000),
    timeout: between(10_000, 15 * MINUTE, '10s to 15m').refine((ms) => ms % 1_000 === 0, 'must be whole seconds'),
    memory: z.int().min(128).max(10_240),
    architecture: z.enum(['arm64', 'x86_64']),
    logDays: z.literal(retention),
    metricsNamespace: z.string().regex(/^(?!AWS)[\w./#-]{1,128}$/, 'is no namespace of your own for CloudWatch'),
    onlyTagged: z.string().regex(ONLY_TAGGED, 'must be `cluster`, `any`, or key=value of a tag'),
    onlyTls: z.boolean(),
    kmsKeys: z.array(arnOf('kms', 'a KMS key').regex(/:key\/[\w-]+$/, 'must name a key, not an alias')),
    alarmTopic: orNull(arnOf('sns', 'an SNS topic')),
    oldestMessage: between(MINUTE, 24 * 60 * MINUTE, '1m to 24h'),
    dashboard: z.boolean(),
    subnets: z.array(z.string().regex(/^subnet-(?:[0-9a-f]{8}|[0-9a-f]{17})$/, 'is no id of a subnet')),
    securityGroups: z.array(z.string().regex(/^sg-(?:[0-9a-f]{8}|[0-9a-f]{17})$/, 'is no id of a security group')),
    ec2Endpoint: orNull(z.url({ protocol: /^https?$/ })),
  })
  .refine(({ subnets, securityGroups }) => (subnets.length === 0) === (securityGroups.length === 0), {
    path: ['subnets'],
    message: 'subnets and securityGroups must be given both or not at all',
  });

export type DeploymentParameters = z.infer<typeof deploymentParameters>;

/** Names that belong to the configuration of the functions and are checked by its own schema. */
export const settingNames = ['clusters', 'territories', 'policy', 'pause', 'shadow'] as const;
