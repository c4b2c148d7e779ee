import type { MachineId } from '../fencing/model/machine.ts';

/**
 * What a cloud makes of the clusters that `cloudfence init` has looked at: the values of a stage's file, each with the
 * place that it comes from, and the commands that remain.
 */

export interface SeenNode {
  readonly name: string;
  /** Null if the Node has none. */
  readonly providerID: string | null;
  /** The machine that the Node names. Null if it names none of this cloud. */
  readonly machine: MachineId | null;
  readonly labels: Readonly<Record<string, string>>;
}

/** A cluster that answered. */
export interface SeenCluster {
  /** The name of its entry: what the cloud's tags say, or the name in the kubeconfig. */
  readonly name: string;
  readonly context: string;
  /** What the kubeconfig calls the cluster and the user. */
  readonly kubeconfigCluster: string;
  readonly kubeconfigUser: string;
  /** The host name of its API server. */
  readonly host: string;
  /** The arguments of the kubeconfig's credential program. */
  readonly programArgs: readonly string[];
  readonly version: string;
  readonly nodes: readonly SeenNode[];
}

/** One value of the file. Without a value, the file only names it, in a comment. */
export interface StageValue {
  readonly key: string;
  readonly value: string | boolean | readonly string[] | null;
  /** Where the value comes from, or what to write. */
  readonly says: string;
}

/** How the functions get at a cluster. */
export interface StageAccess {
  /** The entry of the cluster without its name, such as `{ eks: { cluster } }`. */
  readonly entry: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly says: string;
  /** The service that manages the control plane, such as `EKS`. Null for a cluster of your own. */
  readonly managed: string | null;
}

/** The functions are deployed by `serverless` from a checkout, or from the files of a release. */
export type DeployedFrom = 'checkout' | 'release';

/** What a stage's file needs from its cloud. Everything is pure. */
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
  /** Shortens what the cloud's tools call a cluster in a kubeconfig, such as an ARN. */
  readonly shortName: (kubeconfigCluster: string) => string;
  /** What it means that the cloud shows no name of a cluster on the machines. Null if nothing depends on it. */
  readonly untagged: string | null;
  /** What the cloud's controller manager does to Nodes. */
  readonly controller: readonly string[];
  /** Where the cloud must be asked about the machines of these clusters. */
  readonly scopeOf: (clusters: readonly SeenCluster[]) => {
    readonly region: string | null;
    readonly account: string | null;
  };
  readonly values: (clusters: readonly SeenCluster[]) => readonly StageValue[];
  /** The keys of `values` that the configuration of the CLI has, too. */
  readonly cliKeys: readonly string[];
  readonly access: (cluster: SeenCluster, clusters: readonly SeenCluster[]) => StageAccess;
  /** The commands that remain, for the functions. A line that begins with # is for people. */
  readonly steps: (stage: string, clusters: readonly SeenCluster[], from: DeployedFrom) => readonly string[];
  /** What the CLI needs in the environment, as commands. */
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

/** What the Nodes' labels say about the region. A kubelet can write them, so they count only where nothing else does. */
export const regionsByLabel = (clusters: readonly SeenCluster[]): readonly Tally[] =>
  tally(nodesOf(clusters).map(({ labels }) => labels[REGION_LABEL]));

/** Compares what the labels say with the value that counts. Empty if they say nothing else. */
export const labelDoubt = (value: string, clusters: readonly SeenCluster[]): string => {
  const others = regionsByLabel(clusters).filter((one) => one.value !== value);
  return others.length === 0
    ? ''
    : `; the label ${REGION_LABEL} says ${inTally(others)}, but a kubelet can write labels: check it`;
};

/** A name that every cloud accepts for a secret. */
export const secretName = (cluster: string): string =>
  `cloudfence-${cluster.replaceAll(/[^A-Za-z0-9-]+/g, '-').replaceAll(/^-+|-+$/g, '')}-kubeconfig`;

/** A text as one word of a shell. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

export const rbacSteps = (clusters: readonly SeenCluster[]): readonly string[] =>
  clusters.map(({ context }) => `kubectl --context ${shellWord(context)} apply -f infra/kubernetes/rbac.yaml`);

/** The commands that deploy the functions, and that send a test event. For a release, a page says how. */
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

/** The commands that make a kubeconfig of the service account, and store it with `store`. */
export const kubeconfigSteps = (
  { name, context }: SeenCluster,
  store: (secret: string, file: string) => readonly string[],
): readonly string[] => {
  const file = `${secretName(name)}.yaml`;
  return [
    `npx cloudfence kubeconfig --context ${shellWord(context)} --name ${shellWord(name)} > ${file}`,
    ...store(secretName(name), file),
    `rm ${file}`,
  ];
};
