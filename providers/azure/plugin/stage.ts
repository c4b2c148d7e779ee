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
import { type MachinePath, machinePath } from '../identity.ts';

const machinesIn = (clusters: readonly SeenCluster[]): readonly MachinePath[] =>
  nodesOf(clusters).flatMap(({ machine }) => (machine === null ? [] : (machinePath(machine) ?? [])));

/**
 * The format of a subscription, because a kubelet may write any text into its providerID. Any other text must not
 * become part of a command.
 */
const SUBSCRIPTION = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const subscriptionsOf = (clusters: readonly SeenCluster[]): readonly Tally[] =>
  tally(machinesIn(clusters).map(({ subscription }) => subscription)).filter(({ value }) => SUBSCRIPTION.test(value));

const subscriptionOf = (clusters: readonly SeenCluster[]): string | null => subscriptionsOf(clusters)[0]?.value ?? null;

/** A label may contain any text. */
const LOCATION = /^[a-z]+[a-z0-9]*$/;
const AKS_HOST = /\.([a-z0-9]+)\.azmk8s\.io(?::\d+)?$/;

const subscriptionValue = (clusters: readonly SeenCluster[]): StageValue => {
  const key = 'subscription';
  const [home, ...others] = subscriptionsOf(clusters);
  if (!home)
    return { key, value: null, says: 'no providerID names a subscription: write the id of the one with the machines' };
  const rest = others.length === 0 ? '' : `. Other Nodes are in ${inTally(others)}: each needs a stage of its own`;
  return { key, value: home.value, says: `by the machine IDs: ${inTally([home])}${rest}` };
};

const locationValue = (clusters: readonly SeenCluster[]): StageValue => {
  const key = 'location';
  const host = clusters.map((cluster) => AKS_HOST.exec(cluster.host)?.[1]).find((one) => one !== undefined);
  if (host !== undefined)
    return {
      key,
      value: host,
      says: `of the functions: where the API server is, by its host name${labelDoubt(host, clusters)}`,
    };
  const label = regionsByLabel(clusters).find(({ value }) => LOCATION.test(value));
  return label
    ? {
        key,
        value: label.value,
        says: `of the functions: by a label of ${inTally([label])}, which a kubelet can write: check it`,
      }
    : { key, value: null, says: 'of the functions: nothing names one, and without this line it is westeurope' };
};

const groupsValue = (clusters: readonly SeenCluster[]): StageValue => {
  const key = 'resourceGroups';
  const home = subscriptionOf(clusters);
  const groups = tally(machinesIn(clusters).flatMap(({ subscription, group }) => (subscription === home ? group : [])));
  return groups.length > 0
    ? {
        key,
        value: groups.map(({ value }) => value),
        says: `by the machine IDs: ${inTally(groups)}. If disks are in other groups, add these`,
      }
    : {
        key,
        value: null,
        says: 'no providerID names one: write the groups with the machines and disks of the clusters',
      };
};

const isAks = ({ host, nodes }: SeenCluster): boolean =>
  AKS_HOST.test(host) || nodes.some(({ labels }) => labels['kubernetes.azure.com/cluster'] !== undefined);

/** `az aks get-credentials` names the user `clusterUser_<group>_<cluster>`, and the cluster by its name. */
const aksGroupOf = ({ kubeconfigCluster, kubeconfigUser, nodes }: SeenCluster): string | null => {
  const [, owner] = /^cluster(?:User|Admin)_(.+)$/.exec(kubeconfigUser) ?? [];
  if (owner?.endsWith(`_${kubeconfigCluster}`)) return owner.slice(0, -kubeconfigCluster.length - 1);
  const node = nodes.map(({ labels }) => labels['kubernetes.azure.com/cluster']).find((one) => one !== undefined) ?? '';
  const at = node.toLowerCase().lastIndexOf(`_${kubeconfigCluster.toLowerCase()}_`);
  return /^mc_/i.test(node) && at > 3 ? node.slice(3, at) : null;
};

/** Names of vaults are unique in all of Azure, and have at most 24 characters. */
const vaultOf = (clusters: readonly SeenCluster[]): string =>
  `cloudfence-${(subscriptionOf(clusters) ?? 'vault').replaceAll('-', '').slice(0, 12)}`;

const VAULT_GROUP = 'cloudfence-secrets';

const vaultsValue = (clusters: readonly SeenCluster[]): readonly StageValue[] => {
  const subscription = subscriptionOf(clusters);
  if (clusters.every(isAks) || subscription === null) return [];
  const id =
    `/subscriptions/${subscription}/resourceGroups/${VAULT_GROUP}/providers/Microsoft.KeyVault/vaults/` +
    vaultOf(clusters);
  return [
    {
      key: 'keyVaults',
      value: [id],
      says: 'the vault that the commands of `init` create; use one of your own if you have it',
    },
  ];
};

const access = (cluster: SeenCluster, clusters: readonly SeenCluster[]): StageAccess => {
  const resourceGroup = aksGroupOf(cluster);
  if (!isAks(cluster))
    return {
      entry: { keyVault: { vault: vaultOf(clusters), secret: secretName(cluster.name) } },
      says: 'a secret of a Key Vault, which the commands of `init` create',
      managed: null,
    };
  const by =
    resourceGroup === null
      ? 'name in the kubeconfig. Nothing names its resource group: write it'
      : 'names in the kubeconfig and on the Nodes';
  return {
    entry: { aks: { cluster: cluster.kubeconfigCluster, resourceGroup: resourceGroup ?? 'unknown-resource-group' } },
    says:
      `AKS with Entra ID, by the ${by}. Without Entra ID, use \`keyVault\` (docs/azure.md, ` +
      '"How to give access to a cluster")',
    managed: 'AKS',
  };
};

const vaultSteps = (stage: StageValue | undefined, clusters: readonly SeenCluster[]): readonly string[] => {
  const vault = vaultOf(clusters);
  const location = String(stage?.value ?? 'westeurope');
  return [
    `az group create --name ${VAULT_GROUP} --location ${shellQuote(location)}`,
    `# the name of a vault must be free in all of Azure: if it is not, choose another one, also in the file`,
    `az keyvault create --name ${vault} --resource-group ${VAULT_GROUP} --location ` +
      `${shellQuote(location)} --enable-rbac-authorization true`,
    '# the owner of a vault may not write secrets into it. This role allows it, and takes effect after some minutes',
    `az role assignment create --role 'Key Vault Secrets Officer' --assignee-principal-type User ` +
      '--assignee-object-id "$(az ad signed-in-user show --query id --output tsv)" ' +
      `--scope "$(az keyvault show --name ${vault} --query id --output tsv)"`,
  ];
};

const storedIn = (vault: string) => (secret: string, file: string) => [
  `az keyvault secret set --vault-name ${vault} --name ${secret} --file ${file}`,
];

const environment = (clusters: readonly SeenCluster[]): readonly string[] =>
  [subscriptionOf(clusters)].flatMap((one) => (one === null ? [] : `export AZURE_SUBSCRIPTION_ID=${shellQuote(one)}`));

const steps: StageWriter['steps'] = (stage, clusters, from) => {
  const { deploy, testEvent } = deployment(from, 'Azure', `-c serverless.azure.yml --stage ${stage}`);
  const shown =
    from === 'checkout'
      ? `\`npx serverless info -c serverless.azure.yml --stage ${stage}\` prints`
      : 'the portal of Azure shows';
  const [managed, own] = [clusters.filter(isAks), clusters.filter((cluster) => !isAks(cluster))];
  const granted = managed.flatMap((cluster) => [
    `# AKS knows the functions as the identity whose object ID ${shown}:`,
    '# add it to the subjects of each binding of rbac.yaml (docs/azure.md, "How to give access to a cluster"), then',
    ...rbacSteps([cluster]),
  ]);
  return [
    ...environment(clusters),
    ...clusters.map(({ context }) => `npx cloudfence doctor --context ${shellQuote(context)}`),
    ...rbacSteps(own),
    ...(own.length > 0 ? vaultSteps(locationValue(clusters), clusters) : []),
    ...own.flatMap((cluster) => kubeconfigSteps(cluster, storedIn(vaultOf(clusters)))),
    ...deploy,
    ...granted,
    ...testEvent,
  ];
};

export const stage: StageWriter = {
  title: 'Azure',
  machines: 'Azure',
  file: (name) => `stages/${name}.azure.yml`,
  schema: 'stage.azure.schema.json',
  diskDrivers: ['disk.csi.azure.com'],
  shortName: (name) => name,
  untagged: null,
  controller: [
    'It sets the out-of-service taint (NoExecute) on Nodes of stopped machines itself, from a cache that may ' +
      'be ten minutes old,',
    'and removes it from a Node that is Ready. Cloudfence leaves a taint alone that it did not set.',
  ],
  scopeOf: (clusters) => ({ region: null, account: subscriptionOf(clusters) }),
  values: (clusters) => [
    subscriptionValue(clusters),
    locationValue(clusters),
    groupsValue(clusters),
    ...vaultsValue(clusters),
  ],
  cliKeys: [],
  access,
  steps,
  cliSteps: environment,
};
