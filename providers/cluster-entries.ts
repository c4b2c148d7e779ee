import { z } from 'zod';
import { minLength, nonEmptyText } from '../fencing/model/foreign-text.ts';
import { InvalidConfiguration } from '../fencing/model/errors.ts';

/**
 * The entries that describe the access to a cluster, as people write them. The key of an entry shows which cloud stores
 * the access.
 */

/**
 * Every log line and many messages contain the name. A text with several lines, or with a brace or a quote, may be a
 * kubeconfig in the wrong place.
 */
const NAME = /^[^\n\r\u2028\u2029{}"]{1,200}$/;
const name = z.string().regex(NAME, {
  error: 'is not a name: write one line of at most 200 characters, without braces and double quotes',
  abort: true,
});
const context = z.string().check(minLength(1)).optional();

const kubeconfigCluster = z.strictObject({
  name,
  /** The path of a file, several paths as in KUBECONFIG, or the kubeconfig itself. */
  kubeconfig: nonEmptyText,
  context,
});

/** A kubeconfig, or {server, ca, token}, in a Secrets Manager secret or an SSM SecureString. */
const secretCluster = z.strictObject({ name, secret: nonEmptyText, context });
const parameterCluster = z.strictObject({ name, parameter: nonEmptyText, context });

const eksCluster = z.strictObject({
  name,
  eks: z.strictObject({ cluster: nonEmptyText.optional(), region: nonEmptyText.optional() }),
});

/** An AKS cluster with Entra ID. Without a subscription, the subscription of the machines is used. */
const aksCluster = z.strictObject({
  name,
  aks: z.strictObject({
    cluster: nonEmptyText.optional(),
    resourceGroup: z.string().regex(/^[-\w.()]*[-\w()]$/, 'is not the name of a resource group'),
    subscription: z.guid('is not a subscription id').optional(),
  }),
});

/** `vault` is the name of a Key Vault, its host name, or a URL. */
const VAULT = /^(?:https?:\/\/)?[a-z0-9][-a-z0-9.]*(?::\d+)?$/i;
const keyVaultCluster = z.strictObject({
  name,
  keyVault: z.strictObject({
    vault: z.string().regex(VAULT, 'is not a Key Vault'),
    secret: z.string().regex(/^[-0-9a-zA-Z]{1,127}$/, 'is not the name of a secret'),
  }),
  context,
});

const PROJECT = /^[a-z0-9][-a-z0-9.:]*$/;
const gkeCluster = z.strictObject({
  name,
  gke: z.strictObject({
    cluster: z
      .string()
      .regex(/^[a-z][-a-z0-9]*$/, 'is not the name of a cluster')
      .optional(),
    location: z.string().regex(/^[a-z]+(?:-[a-z0-9]+)+$/, 'is not a region or zone'),
    project: z.string().regex(PROJECT, 'is not a project id'),
  }),
});

const SECRET = /^projects\/[a-z0-9][-a-z0-9.:]*(?:\/locations\/[-a-z0-9]+)?\/secrets\/[-\w]+$/;
const secretManagerCluster = z.strictObject({
  name,
  secretManager: z.strictObject({
    secret: z.string().regex(SECRET, 'is not a secret: write projects/<project>/secrets/<name>'),
    version: z
      .string()
      .regex(/^[-\w]+$/)
      .default('latest'),
  }),
  context,
});

export const clusterEntrySchema = z.union([
  kubeconfigCluster,
  secretCluster,
  parameterCluster,
  eksCluster,
  aksCluster,
  keyVaultCluster,
  gkeCluster,
  secretManagerCluster,
]);

export type ClusterEntry = z.infer<typeof clusterEntrySchema>;

/** A cluster that a cloud manages. */
export type ManagedCluster = z.infer<typeof eksCluster> | z.infer<typeof aksCluster> | z.infer<typeof gkeCluster>;

/** A cluster whose kubeconfig a cloud stores. */
export type StoredKubeconfig =
  | z.infer<typeof secretCluster>
  | z.infer<typeof parameterCluster>
  | z.infer<typeof keyVaultCluster>
  | z.infer<typeof secretManagerCluster>;

/** The cloud that stores the access to a cluster. */
interface Keeper {
  readonly cloud: string;
  /** Whether the cloud also manages the cluster. If so, the Nodes are machines of that cloud. */
  readonly managed: boolean;
}

/** The cloud for each key of a cluster's entry. */
const keepers: Readonly<Record<string, Keeper>> = {
  eks: { cloud: 'aws', managed: true },
  secret: { cloud: 'aws', managed: false },
  parameter: { cloud: 'aws', managed: false },
  aks: { cloud: 'azure', managed: true },
  keyVault: { cloud: 'azure', managed: false },
  gke: { cloud: 'gcp', managed: true },
  secretManager: { cloud: 'gcp', managed: false },
};

const keeperOf = (entry: ClusterEntry): Keeper | null =>
  Object.entries(keepers).find(([key]) => key in entry)?.[1] ?? null;

/** Returns the cloud that an entry needs. Returns null for a local kubeconfig, which needs no cloud. */
export const cloudOfEntry = (entry: ClusterEntry): string | null => keeperOf(entry)?.cloud ?? null;

/** Returns the names of the clouds that manage clusters among these. */
export const managedClouds = (clusters: readonly ClusterEntry[]): readonly string[] =>
  clusters.flatMap((entry) => {
    const keeper = keeperOf(entry);
    return keeper?.managed ? [keeper.cloud] : [];
  });

/** Creates the error for a cloud that is asked for access that another cloud stores. */
export const wrongCloudError = (cloud: string, { name }: ClusterEntry): InvalidConfiguration =>
  new InvalidConfiguration([
    `${cloud} does not provide the access to cluster ${name}, and this install has no other cloud`,
  ]);

export interface PermissionTag {
  readonly key: string;
  readonly values: readonly string[];
}

/** The tags on which permissions depend. One tag of each list is sufficient. */
export interface PermissionTags {
  readonly instances: readonly PermissionTag[];
  readonly volumes: readonly PermissionTag[];
}

/**
 * The valid values of the parameter `onlyTagged`. It says on which tags of instances and volumes the permissions of an
 * install on AWS depend.
 */
export const ONLY_TAGGED = /^(?:cluster|any|[^=]+=[^=]*)$/;

/** Returns the tag that shows the cluster of an instance: https://github.com/kubernetes/cloud-provider-aws */
const ofCluster = (name: string): PermissionTag => ({
  key: `kubernetes.io/cluster/${name}`,
  values: ['owned', 'shared'],
});

/**
 * The tag that the EBS driver gives to every volume that it creates. The driver adds the cluster's own tag only if it
 * is configured with the cluster's name.
 */
const ofDriver: PermissionTag = { key: 'ebs.csi.aws.com/cluster', values: ['true'] };

const namesOf = (
  cluster: Pick<ClusterEntry, 'name'> & { readonly eks?: { readonly cluster?: string | undefined } },
): readonly string[] => [cluster.name, ...(cluster.eks?.cluster === undefined ? [] : [cluster.eks.cluster])];

/** Returns null if the permissions do not depend on a tag. */
export const permissionTags = (
  onlyTagged: string | null,
  clusters: readonly Parameters<typeof namesOf>[0][],
): PermissionTags | null => {
  if (onlyTagged === null || onlyTagged === 'any') return null;
  if (onlyTagged === 'cluster') {
    const instances = [...new Set(clusters.flatMap(namesOf))].map(ofCluster);
    return { instances, volumes: [...instances, ofDriver] };
  }
  const at = onlyTagged.indexOf('=');
  const own = { key: onlyTagged.slice(0, at), values: [onlyTagged.slice(at + 1)] };
  return { instances: [own], volumes: [own] };
};
