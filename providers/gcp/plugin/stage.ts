import {
  deployment,
  inTally,
  kubeconfigSteps,
  labelDoubt,
  nodesOf,
  rbacSteps,
  regionsByLabel,
  secretName,
  type SeenCluster,
  shellQuote,
  type StageAccess,
  type StageValue,
  type StageWriter,
  type Tally,
  tally,
} from '../../stage.ts';
import { type InstancePath, instancePath, regionOf } from '../identity.ts';

const machinesIn = (clusters: readonly SeenCluster[]): readonly InstancePath[] =>
  nodesOf(clusters).flatMap(({ machine }) => (machine === null ? [] : (instancePath(machine) ?? [])));

const projectsOf = (clusters: readonly SeenCluster[]): readonly Tally[] =>
  tally(machinesIn(clusters).map(({ project }) => project));

const projectOf = (clusters: readonly SeenCluster[]): string | null => projectsOf(clusters)[0]?.value ?? null;

const regionsOf = (clusters: readonly SeenCluster[]): readonly Tally[] =>
  tally(machinesIn(clusters).map(({ zone }) => regionOf(zone)));

const projectValues = (clusters: readonly SeenCluster[]): readonly StageValue[] => {
  const [home, ...others] = projectsOf(clusters);
  if (!home)
    return [
      { key: 'project', value: null, says: 'no Node names a project: write the id of the one with the machines' },
    ];
  const own = { key: 'project', value: home.value, says: `by the machine IDs: ${inTally([home])}` };
  if (others.length === 0) return [own];
  const seen = inTally(others);
  const says = `by the machine IDs: ${seen}: docs/gcp.md, "Other projects", has the permissions that they need`;
  return [own, { key: 'projects', value: others.map(({ value }) => value), says }];
};

const regionValue = (clusters: readonly SeenCluster[]): StageValue => {
  const key = 'region';
  const [home] = regionsOf(clusters);
  const [label] = regionsByLabel(clusters);
  if (home)
    return {
      key,
      value: home.value,
      says: `of the functions: by the machine IDs: ${inTally([home])}${labelDoubt(home.value, clusters)}`,
    };
  return label
    ? {
        key,
        value: label.value,
        says: `of the functions: by a label of ${inTally([label])}, which a kubelet can write: check it`,
      }
    : { key, value: null, says: 'of the functions: nothing names one, and without this line it is europe-west1' };
};

/** The context name that `gcloud container clusters get-credentials` uses. */
const GKE_CONTEXT = /^gke_([a-z0-9][-a-z0-9.:]*)_([a-z]+(?:-[a-z0-9]+)+)_([a-z][-a-z0-9]*)$/;

const isGke = ({ version, nodes }: SeenCluster): boolean =>
  version.includes('-gke.') || nodes.some(({ labels }) => labels['cloud.google.com/gke-nodepool'] !== undefined);

const access = (cluster: SeenCluster, clusters: readonly SeenCluster[]): StageAccess => {
  const project = projectOf([cluster]) ?? projectOf(clusters) ?? 'unknown-project';
  if (!isGke(cluster))
    return {
      entry: { secretManager: { secret: `projects/${project}/secrets/${secretName(cluster.name)}` } },
      says: 'a secret of Secret Manager, which the commands of `init` create',
      managed: null,
    };
  const names = [cluster.kubeconfigCluster, cluster.context].map((name) => GKE_CONTEXT.exec(name));
  const [, owner, location, name] = names.find((found) => found !== null) ?? [];
  if (owner !== undefined && location !== undefined && name !== undefined)
    return {
      entry: { gke: { cluster: name, location, project: owner } },
      says: 'GKE, by the name in the kubeconfig',
      managed: 'GKE',
    };
  return {
    entry: { gke: { location: regionsOf([cluster])[0]?.value ?? 'unknown-location', project } },
    says:
      'GKE. The kubeconfig does not say what GKE calls it: check `cluster` (by default the name of the entry) ' +
      'and `location` (a region or a zone)',
    managed: 'GKE',
  };
};

const storedIn = (project: string) => (secret: string, file: string) => [
  `gcloud secrets create ${secret} --project ${project} --data-file ${file}`,
];

const gkeSteps = (stage: string, project: string, { context }: SeenCluster): readonly string[] => [
  `ACCOUNT=cloudfence-${stage}-run@${project}.iam.gserviceaccount.com`,
  `sed "/kind: Group/,/name:/ { s/kind: Group/kind: User/; s/name: cloudfence/name: $ACCOUNT/ }" ` +
    `infra/kubernetes/rbac.yaml | kubectl --context ${shellQuote(context)} apply -f -`,
];

const steps: StageWriter['steps'] = (stage, clusters, from) => {
  const { deploy, testEvent } = deployment(from, 'Google Cloud', `-c serverless.gcp.yml --stage ${stage}`);
  const project = projectOf(clusters) ?? '<project>';
  const [managed, own] = [clusters.filter(isGke), clusters.filter((cluster) => !isGke(cluster))];
  return [
    ...clusters.map(({ context }) => `npx cloudfence doctor --context ${shellQuote(context)}`),
    ...managed.flatMap((cluster) => gkeSteps(stage, project, cluster)),
    ...rbacSteps(own),
    ...own.flatMap((cluster) => kubeconfigSteps(cluster, storedIn(project))),
    `# who may call the functions by hand: add yourself as \`invokers\` to the file`,
    ...deploy,
    ...testEvent,
  ];
};

export const stage: StageWriter = {
  title: 'Google Cloud',
  machines: 'Compute Engine',
  file: (name) => `stages/${name}.gcp.yml`,
  schema: 'stage.gcp.schema.json',
  diskDrivers: ['pd.csi.storage.gke.io'],
  shortName: (name) => name.replace(/^gke_[^_]+_[^_]+_/, ''),
  untagged: null,
  controller: [
    'It does nothing for a machine that has stopped: the Node gets no taint and stays, and so do its pods and disks.',
  ],
  scopeOf: () => ({ region: null, account: null }),
  values: (clusters) => [
    ...projectValues(clusters),
    regionValue(clusters),
    { key: 'invokers', value: null, says: "who may invoke the functions by hand, such as ['user:me@example.org']" },
  ],
  cliKeys: [],
  access,
  steps,
  cliSteps: () => [],
};
