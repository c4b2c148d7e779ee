import { z } from 'zod';
import { type Configuration, durationSchema } from '../../config/schema.ts';
import { ONLY_TAGGED } from '../../providers/cluster-entries.ts';
import { type RawParameters, configurationIn, splitParameters, parameterFaults } from './deployer.ts';

/** The parameters in infra/aws/parameters.yml and in a stage's file, apart from the configuration of the functions. */

const MINUTE = 60_000;
const arnOf = (service: string, form: string) =>
  z.string().regex(new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]+:\\d{12}:`), `is not the ARN of ${form}`);
const orNull = <T extends z.ZodType>(schema: T) => schema.nullable();

const between = (least: number, most: number, words: string) =>
  durationSchema.refine((ms) => ms >= least && ms <= most, `must be from ${words}`);

const wholeMinutes = between(MINUTE, 60 * MINUTE, '1m to 60m').refine(
  (ms) => ms % MINUTE === 0,
  'must be whole minutes',
);

/** https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html */
const retention = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

export const deploymentParameters = z
  .strictObject({
    region: orNull(z.string().regex(/^[a-z]{2,}(?:-[a-z]+)+-\d+$/, 'is not a region: write one such as eu-west-1')),
    spotInterruption: z.boolean(),
    rebalanceRecommendation: z.boolean(),
    autoScaling: z.boolean(),
    health: z.boolean(),
    cloudTrail: z.boolean(),
    testSource: orNull(z.string().regex(/^(?!aws\.)[\w.-]+$/, 'must be your own name, and must not begin with aws.')),
    archiveDays: z.int().min(0),
    sweepEvery: wholeMinutes,
    sweepAlone: z.boolean(),
    maximumConcurrency: z.int().min(2).max(1_000),
    timeout: between(10_000, 15 * MINUTE, '10s to 15m').refine((ms) => ms % 1_000 === 0, 'must be whole seconds'),
    memory: z.int().min(128).max(10_240),
    architecture: z.enum(['arm64', 'x86_64']),
    logDays: z.literal(retention),
    metricsNamespace: z.string().regex(/^(?!AWS)[\w./#-]{1,128}$/, 'is not a valid custom namespace of CloudWatch'),
    onlyTagged: z.string().regex(ONLY_TAGGED, 'must be `cluster`, `any`, or a tag as key=value'),
    onlyTls: z.boolean(),
    kmsKeys: z.array(arnOf('kms', 'a KMS key').regex(/:key\/[\w-]+$/, 'must name a key, not an alias')),
    alarmTopic: orNull(arnOf('sns', 'an SNS topic')),
    oldestMessage: between(MINUTE, 24 * 60 * MINUTE, '1m to 24h'),
    dashboard: z.boolean(),
    incidentDays: z.int().min(1).max(3_650),
    incidentTopic: orNull(arnOf('sns', 'an SNS topic')),
    subnets: z.array(z.string().regex(/^subnet-(?:[0-9a-f]{8}|[0-9a-f]{17})$/, 'is not the id of a subnet')),
    securityGroups: z.array(z.string().regex(/^sg-(?:[0-9a-f]{8}|[0-9a-f]{17})$/, 'is not the id of a security group')),
    ec2Endpoint: orNull(z.url({ protocol: /^https?$/ })),
  })
  .refine(({ subnets, securityGroups }) => (subnets.length === 0) === (securityGroups.length === 0), {
    path: ['subnets'],
    message: 'set both subnets and securityGroups, or neither',
  });

export type DeploymentParameters = z.infer<typeof deploymentParameters>;

/** Names that belong to the configuration of the functions and are checked by its own schema. */
const settingNames = ['clusters', 'territories', 'policy', 'pause', 'shadow'] as const;

export type { RawParameters as Written };

export interface CheckedParameters {
  /** Null if there are faults. */
  readonly parameters: DeploymentParameters | null;
  readonly clusters: readonly DeployableCluster[];
  /** The configuration of the functions as JSON. */
  readonly settings: string;
  /** Whether the policy can stop a machine. */
  readonly powersOff: boolean;
  readonly territories: Configuration['territories'];
  readonly faults: readonly string[];
}

/** Lambda allows 4 KB for all variables of a function. This limit leaves room for the other variables (bytes). */
const MOST_SETTINGS = 3_000;

const sizeFaults = (settings: string): readonly string[] => {
  const bytes = Buffer.byteLength(settings);
  return bytes > MOST_SETTINGS
    ? [
        `clusters, policy and territories: the configuration has ${bytes} bytes, but a function can hold at most ` +
          `${MOST_SETTINGS}`,
      ]
    : [];
};

/**
 * The policies of a role may have 10,240 characters in total, and each cluster takes about 1,000:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
 */
const MOST_TAGGED_CLUSTERS = 6;

const tagFaults = (
  parameters: DeploymentParameters | null,
  clusters: readonly DeployableCluster[],
): readonly string[] =>
  parameters?.onlyTagged === 'cluster' && clusters.length > MOST_TAGGED_CLUSTERS
    ? [
        `onlyTagged: a role can hold conditions for at most ${MOST_TAGGED_CLUSTERS} clusters, but there are ` +
          `${clusters.length}: add one tag of your own to all their instances and volumes, and set onlyTagged to ` +
          'that tag as key=value',
      ]
    : [];

/**
 * Checks the parameters and returns all faults together. `written` belongs to one stage: its defaults, the stage's
 * file, and the command line, merged.
 */
export const checkParameters = (written: RawParameters): CheckedParameters => {
  const halves = splitParameters(written, settingNames);
  const { settings } = halves;
  const access = deployableClusters(written['clusters']);
  const { configuration, faults: configurationFaults } = configurationIn(settings);
  const { data: parameters = null, error } = deploymentParameters.safeParse(halves.parameters);
  const faults = [
    ...parameterFaults(error),
    ...access.faults,
    ...tagFaults(parameters, access.clusters),
    ...sizeFaults(settings),
    ...configurationFaults,
  ];
  const powersOff = configuration?.policy.unreachable === 'power-off';
  return {
    parameters,
    clusters: access.clusters,
    settings,
    powersOff,
    territories: configuration?.territories ?? [],
    faults,
  };
};

/** The clusters of a deployed install, and what a function must be allowed to read to connect to them. */

const secretCluster = z.looseObject({ name: z.string(), secret: z.string() });
const parameterCluster = z.looseObject({ name: z.string(), parameter: z.string() });
const eksCluster = z.looseObject({
  name: z.string(),
  eks: z.looseObject({ cluster: z.string().optional(), region: z.string().optional() }),
});
const deployableCluster = z.union([secretCluster, parameterCluster, eksCluster]);

type DeployableCluster = z.infer<typeof deployableCluster>;

/** An ARN, or an `Fn::Sub` that makes one in the account and region of the install. */
export type Arn = string | { readonly 'Fn::Sub': string };

const arnOfInstall = (service: string, resource: string, region = '${AWS::Region}'): Arn => ({
  'Fn::Sub': `arn:\${AWS::Partition}:${service}:${region}:\${AWS::AccountId}:${resource}`,
});

const isArn = (name: string): boolean => name.startsWith('arn:');

/**
 * Returns the ARN of a secret. Secrets Manager ends each ARN with six characters that are unknown in advance, and six
 * `?` match exactly those.
 */
const secretArn = (secret: string): Arn =>
  isArn(secret) ? secret : arnOfInstall('secretsmanager', `secret:${secret}-??????`);

const parameterArn = (parameter: string): Arn =>
  isArn(parameter) ? parameter : arnOfInstall('ssm', `parameter/${parameter.replace(/^\//, '')}`);

export const secretArns = (clusters: readonly DeployableCluster[]): readonly Arn[] =>
  clusters.flatMap((cluster) =>
    'secret' in cluster && typeof cluster.secret === 'string' ? [secretArn(cluster.secret)] : [],
  );

export const parameterArns = (clusters: readonly DeployableCluster[]): readonly Arn[] =>
  clusters.flatMap((cluster) =>
    'parameter' in cluster && typeof cluster.parameter === 'string' ? [parameterArn(cluster.parameter)] : [],
  );

export const managedClusterArns = (clusters: readonly DeployableCluster[]): readonly Arn[] =>
  clusters.flatMap((cluster) => {
    const read = eksCluster.safeParse(cluster);
    return read.success
      ? [arnOfInstall('eks', `cluster/${read.data.eks.cluster ?? read.data.name}`, read.data.eks.region)]
      : [];
  });

const faultOf = (cluster: unknown, at: number): readonly string[] =>
  deployableCluster.safeParse(cluster).success
    ? []
    : [
        `clusters.${at}: a deployed function requires \`eks\`, which finds a cluster, or a \`secret\` or ` +
          `\`parameter\`, which contains a kubeconfig`,
      ];

interface Clusters {
  readonly clusters: readonly DeployableCluster[];
  readonly faults: readonly string[];
}

const deployableClusters = (written: unknown): Clusters => {
  if (!Array.isArray(written) || written.length === 0)
    return {
      clusters: [],
      faults: [
        'clusters: add at least one cluster, in stages/<stage>.yml or with --param; without a cluster, ' +
          'Cloudfence can fence nothing',
      ],
    };
  const clusters = written.flatMap((cluster) => {
    const read = deployableCluster.safeParse(cluster);
    return read.success ? [read.data] : [];
  });
  return { clusters, faults: written.flatMap(faultOf) };
};

/**
 * The permissions of the functions for serving other territories. In another account, that account's role grants the
 * remaining permissions.
 */

type Territories = Configuration['territories'];

export const territoryRoleArns = (territories: Territories): readonly string[] => [
  ...new Set(territories.flatMap(({ role }) => role ?? [])),
];

/**
 * Returns every volume, or every instance, of the install's own account: in its own region, and in the regions that are
 * served without a role.
 */
export const resourceArns = (kind: 'volume' | 'instance', territories: Territories): readonly Arn[] =>
  ['${AWS::Region}', ...territories.flatMap(({ role, region }) => (role === undefined ? [region] : []))].map(
    (region) => ({
      'Fn::Sub': `arn:\${AWS::Partition}:ec2:${region}:\${AWS::AccountId}:${kind}/*`,
    }),
  );
