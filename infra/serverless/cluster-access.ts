import { z } from 'zod';
import type { Configuration } from '../../config/schema.ts';

/** The clusters of a deployed install, and what a function must be allowed to read to connect to them. */

const secretCluster = z.looseObject({ name: z.string(), secret: z.string() });
const parameterCluster = z.looseObject({ name: z.string(), parameter: z.string() });
const eksCluster = z.looseObject({
  name: z.string(),
  eks: z.looseObject({ cluster: z.string().optional(), region: z.string().optional() }),
});
const deployableCluster = z.union([secretCluster, parameterCluster, eksCluster]);

export type DeployableCluster = z.infer<typeof deployableCluster>;

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
        `clusters.${at}: a deployed function requires \`eks\`, which finds a cluster, or a \`secret\` or \`parameter\`, which contains a kubeconfig`,
      ];

interface Clusters {
  readonly clusters: readonly DeployableCluster[];
  readonly faults: readonly string[];
}

export const deployableClusters = (written: unknown): Clusters => {
  if (!Array.isArray(written) || written.length === 0)
    return {
      clusters: [],
      faults: [
        'clusters: add at least one cluster, in stages/<stage>.yml or with --param; without a cluster, Cloudfence can fence nothing',
      ],
    };
  const clusters = written.flatMap((cluster) => {
    const read = deployableCluster.safeParse(cluster);
    return read.success ? [read.data] : [];
  });
  return { clusters, faults: written.flatMap(faultOf) };
};

/**
 * The permissions of the functions for serving other territories. In another account, that account's role gives the
 * remaining ones.
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
