import type { MachineId } from '../fencing/model/machine.ts';

/**
 * What `cloudfence init` needs from a cloud: the values of a stage file, each with its source, and the remaining
 * commands.
 */

export interface SeenNode {
  readonly name: string;
  /** Null if the Node has none. */
  readonly providerID: string | null;
  /** The machine that the Node names. Null if it names no machine of this cloud. */
  readonly machine: MachineId | null;
  readonly labels: Readonly<Record<string, string>>;
}

/** A cluster that answered. */
export interface SeenCluster {
  /** The name of its entry: from the cloud's tags, or else from the kubeconfig. */
  readonly name: string;
  readonly context: string;
  /** The names of the cluster and the user in the kubeconfig. */
  readonly kubeconfigCluster: string;
  readonly kubeconfigUser: string;
  /** The host name of its API server. */
  readonly host: string;
  /** The arguments of the kubeconfig's credential program. */
  readonly programArgs: readonly string[];
  readonly version: string;
  readonly nodes: readonly SeenNode[];
}

/** One value of the file. Without a value, the file contains the key only in a comment. */
export interface StageValue {
  readonly key: string;
  readonly value: string | boolean | readonly string[] | null;
  /** The source of the value, or what to write. */
  readonly says: string;
}

/** How the functions get access to a cluster. */
export interface StageAccess {
  /** The entry of the cluster without its name, such as `{ eks: { cluster } }`. */
  readonly entry: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly says: string;
  /** The service that manages the control plane, such as `EKS`. Null for a cluster of your own. */
  readonly managed: string | null;
}

/** Whether the functions are deployed by `serverless` from a checkout, or from the files of a release. */
export type DeployedFrom = 'checkout' | 'release';

/** The functions of a cloud that write a stage file. All of them are pure. */
export interface StageWriter {
  /** The cloud's name for people. */
  readonly title: string;
  /** The service that knows the machines, such as `EC2`. */
  readonly machines: string;
  readonly file: (stage: string) => string;
  /** The JSON Schema in infra/schemas. */
  readonly schema: string;
  /** The CSI drivers whose disks the cloud knows. */
  readonly diskDrivers: readonly string[];
  /** Shortens the name that the cloud's tools give a cluster in a kubeconfig, such as an ARN. */
  readonly shortName: (kubeconfigCluster: string) => string;
  /** What it means if the machines have no tag with the name of the cluster. Null if nothing depends on such a tag. */
  readonly untagged: string | null;
  /** What the cloud controller manager of this cloud does to Nodes. */
  readonly controller: readonly string[];
  /** The scope in which the cloud must be asked about the machines of these clusters. */
  readonly scopeOf: (clusters: readonly SeenCluster[]) => {
    readonly region: string | null;
    readonly account: string | null;
  };
  readonly values: (clusters: readonly SeenCluster[]) => readonly StageValue[];
  /** The keys of `values` that also exist in the configuration of the CLI. */
  readonly cliKeys: readonly string[];
  readonly access: (cluster: SeenCluster, clusters: readonly SeenCluster[]) => StageAccess;
  /** The remaining commands for the functions. A line that begins with # is for people. */
  readonly steps: (stage: string, clusters: readonly SeenCluster[], from: DeployedFrom) => readonly string[];
  /** The environment variables that the CLI needs, as commands. */
  readonly cliSteps: (clusters: readonly SeenCluster[]) => readonly string[];
}

export interface Tally {
  readonly value: string;
  readonly count: number;
}

/** Counts the values, the most frequent first. */
export const tally = (values: readonly (string | null | undefined)[]): readonly Tally[] => {
  const present = values.flatMap((value) => (value === null || value === undefined || value === '' ? [] : [value]));
  return [...Map.groupBy(present, (value) => value)]
    .map(([value, all]) => ({ value, count: all.length }))
    .toSorted((one, other) => other.count - one.count || one.value.localeCompare(other.value));
};

export const inTally = (counts: readonly Tally[]): string =>
  counts.map(({ value, count }) => `${value} (${count} ${count === 1 ? 'Node' : 'Nodes'})`).join(', ');

export const nodesOf = (clusters: readonly SeenCluster[]): readonly SeenNode[] =>
  clusters.flatMap(({ nodes }) => nodes);

const REGION_LABEL = 'topology.kubernetes.io/region';

/**
 * Returns the regions in the Nodes' labels. A kubelet can write them, so they are used only if nothing else shows the
 * region.
 */
export const regionsByLabel = (clusters: readonly SeenCluster[]): readonly Tally[] =>
  tally(nodesOf(clusters).map(({ labels }) => labels[REGION_LABEL]));

/** Compares the labels with the value that is used. Empty if they do not contradict it. */
export const labelDoubt = (value: string, clusters: readonly SeenCluster[]): string => {
  const others = regionsByLabel(clusters).filter((one) => one.value !== value);
  return others.length === 0
    ? ''
    : `; the label ${REGION_LABEL} says ${inTally(others)}, but a kubelet can write labels: check it`;
};

/** A name that every cloud accepts for a secret. */
export const secretName = (cluster: string): string =>
  `cloudfence-${cluster.replaceAll(/[^A-Za-z0-9-]+/g, '-').replaceAll(/^-+|-+$/g, '')}-kubeconfig`;

/** Quotes a text as one word for a shell. */
export const shellQuote = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

export const rbacSteps = (clusters: readonly SeenCluster[]): readonly string[] =>
  clusters.map(({ context }) => `kubectl --context ${shellQuote(context)} apply -f infra/kubernetes/rbac.yaml`);

/** The commands that deploy the functions, and that send a test event. For a release, a docs page describes them. */
export const deployment = (
  from: DeployedFrom,
  title: string,
  options: string,
): { readonly deploy: readonly string[]; readonly testEvent: readonly string[] } =>
  from === 'checkout'
    ? {
        deploy: [`npx serverless deploy ${options}`],
        testEvent: [`npx serverless invoke ${options} -f doctor -d '{"question": "test-event"}'`],
      }
    : {
        deploy: [`# write these values into settings.json, and install the functions: docs/install.md, "${title}"`],
        testEvent: [],
      };

/** The commands that create a kubeconfig of the service account, and store it with `store`. */
export const kubeconfigSteps = (
  { name, context }: SeenCluster,
  store: (secret: string, file: string) => readonly string[],
): readonly string[] => {
  const file = `${secretName(name)}.yaml`;
  return [
    `npx cloudfence kubeconfig --context ${shellQuote(context)} --name ${shellQuote(name)} > ${file}`,
    ...store(secretName(name), file),
    `rm ${file}`,
  ];
};
