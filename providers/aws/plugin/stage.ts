import {
  deployment,
  inTally,
  kubeconfigSteps,
  labelDoubt,
  nodesOf,
  rbacSteps,
  regionsByLabel,
  type SeenCluster,
  shellQuote,
  secretName,
  type StageAccess,
  type StageValue,
  type StageWriter,
  type Tally,
  tally,
} from '../../stage.ts';
import { regionOfProviderID } from '../identity.ts';

/**
 * The format of a region, because a providerID and a label may contain any text. Any other text must not become part of
 * a command.
 */
const REGION = /^[a-z]{2,}(?:-[a-z]+)+-\d+$/;

const regionsByProviderID = (clusters: readonly SeenCluster[]): readonly Tally[] =>
  tally(nodesOf(clusters).map(({ providerID }) => providerID && regionOfProviderID(providerID))).filter(({ value }) =>
    REGION.test(value),
  );

const regionsLabelled = (clusters: readonly SeenCluster[]): readonly Tally[] =>
  regionsByLabel(clusters).filter(({ value }) => REGION.test(value));

const regionOf = (clusters: readonly SeenCluster[]): string | null =>
  (regionsByProviderID(clusters)[0] ?? regionsLabelled(clusters)[0])?.value ?? null;

const regionValue = (clusters: readonly SeenCluster[]): StageValue => {
  const key = 'region';
  const [home, ...others] = regionsByProviderID(clusters);
  const [labelled] = regionsLabelled(clusters);
  if (home)
    return {
      key,
      value: home.value,
      says: `by the providerIDs: ${inTally([home])}${labelDoubt(home.value, clusters)}${elsewhere(others)}`,
    };
  return labelled
    ? {
        key,
        value: labelled.value,
        says: `only by a label of ${inTally([labelled])}, which a kubelet can write: check it`,
      }
    : {
        key,
        value: null,
        says:
          'neither the settings nor the environment name a region: ' +
          'enter the region of the machines, such as eu-west-1',
      };
};

const elsewhere = (others: readonly Tally[]): string =>
  others.length === 0
    ? ''
    : `. Other Nodes are in ${inTally(others)}: add \`territories\` (docs/aws.md, "Accounts and regions")`;

const EKS_ARN = /^arn:aws[a-z-]*:eks:([a-z0-9-]+):\d{12}:cluster\/([\w-]+)$/;

/** Returns the EKS name of the cluster, which `aws eks update-kubeconfig` and eksctl write into the kubeconfig. */
const eksNameOf = ({ context, kubeconfigCluster, programArgs }: SeenCluster): string | null => {
  const named = [kubeconfigCluster, context].map((name) => EKS_ARN.exec(name)?.[2]).find((name) => name !== undefined);
  const at = programArgs.findIndex((argument) => ['--cluster-name', '--cluster-id', '-i'].includes(argument));
  return named ?? (at === -1 ? null : (programArgs[at + 1] ?? null));
};

const isEks = ({ version, host }: SeenCluster): boolean =>
  version.includes('-eks-') || /\.eks\.amazonaws\.com(?:\.cn)?(?::\d+)?$/.test(host);

const access = (cluster: SeenCluster, clusters: readonly SeenCluster[]): StageAccess => {
  if (!isEks(cluster))
    return {
      entry: { secret: secretName(cluster.name) },
      says: 'a secret of Secrets Manager, which the commands of `init` create',
      managed: null,
    };
  const name = eksNameOf(cluster);
  const region = regionOf([cluster]);
  return {
    entry: {
      eks: { cluster: name ?? cluster.name, ...(region !== null && region !== regionOf(clusters) && { region }) },
    },
    says:
      name === null
        ? 'the kubeconfig does not say what EKS calls it: check the name'
        : 'EKS, by the name in the kubeconfig',
    managed: 'EKS',
  };
};

const accessEntries = (stage: string, cluster: SeenCluster, region: string): readonly string[] => [
  `# cluster ${cluster.name}: the roles exist after the deployment`,
  'ACCOUNT=$(aws sts get-caller-identity --query Account --output text)',
  'for function in on-event sweep replay fence doctor diagnose; do aws eks create-access-entry --region ' +
    `${regionOf([cluster]) ?? region} --cluster-name ` +
    `${shellQuote(eksNameOf(cluster) ?? cluster.name)} --kubernetes-groups cloudfence --principal-arn ` +
    `"arn:aws:iam::$ACCOUNT:role/cloudfence-${stage}-${region}-$function"; done`,
];

const storedIn = (region: string) => (secret: string, file: string) => [
  `aws secretsmanager create-secret --region ${region} --name ${secret} --secret-string file://${file}`,
];

const steps: StageWriter['steps'] = (stage, clusters, from) => {
  const { deploy, testEvent } = deployment(from, 'AWS', `--stage ${stage}`);
  const region = regionOf(clusters) ?? '<region>';
  const [managed, own] = [clusters.filter(isEks), clusters.filter((cluster) => !isEks(cluster))];
  return [
    ...clusters.map(({ context }) => `npx cloudfence doctor --context ${shellQuote(context)} --region ${region}`),
    ...rbacSteps(clusters),
    ...own.flatMap((cluster) => kubeconfigSteps(cluster, storedIn(region))),
    ...deploy,
    ...managed.flatMap((cluster) => accessEntries(stage, cluster, region)),
    ...testEvent,
  ];
};

export const stage: StageWriter = {
  title: 'AWS',
  machines: 'EC2',
  file: (name) => `stages/${name}.yml`,
  schema: 'stage.aws.schema.json',
  diskDrivers: ['ebs.csi.aws.com', 'ebs.csi.eks.amazonaws.com'],
  shortName: (name) => name.replace(/^.*\//, '').replace(/\.[a-z0-9-]+\.eksctl\.io$/, ''),
  untagged:
    'EC2 shows no tag kubernetes.io/cluster/<name> on them, so the functions may not detach their disks: add ' +
    'it, or set `onlyTagged` (docs/aws.md, "Permissions")',
  controller: [
    'It gives the Node of a stopped machine a NoSchedule taint, and nothing else: pods and disks stay where they are.',
    'It deletes the Node of a terminated machine after about 50 seconds. Cloudfence then finds what is left by ' +
      'its attachments.',
  ],
  scopeOf: (clusters) => ({ region: regionOf(clusters), account: null }),
  values: (clusters) => [regionValue(clusters)],
  cliKeys: ['region'],
  access,
  steps,
  cliSteps: () => [],
};
