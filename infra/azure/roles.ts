import { assignment, AUTHORIZATION_API } from './access.ts';
import { inGroup, nestedId, type TemplateResource } from './arm-template.ts';
import type { Install } from './install.ts';

/** What the functions may do with machines, disks and clusters, and nothing else. docs/azure.md has the reason of each line. */

export const roleNames = ['machines', 'operations', 'clusters', 'secrets'] as const;

type RoleName = (typeof roleNames)[number];

interface Role {
  readonly name: RoleName;
  readonly description: string;
  readonly actions: readonly string[];
  readonly dataActions: readonly string[];
}

const ofMachines = (powersOff: boolean): Role => ({
  name: 'machines',
  description: 'Proves that a machine is off, and detaches its data disks',
  actions: ['virtualMachines', 'virtualMachineScaleSets/virtualMachines']
    .flatMap((kind) => [`${kind}/read`, `${kind}/instanceView/read`, `${kind}/attachDetachDataDisks/action`, ...(powersOff ? [`${kind}/powerOff/action`] : [])])
    .concat('disks/read', 'locations/operations/read')
    .map((action) => `Microsoft.Compute/${action}`),
  dataActions: [],
});

/** ARM keeps operations beside the groups: a role that reaches over some groups does not reach them. */
const ofOperations: Role = { name: 'operations', description: 'Sees how an operation goes on', actions: ['Microsoft.Compute/locations/operations/read'], dataActions: [] };

const ofClusters: Role = {
  name: 'clusters',
  description: 'Finds the API server of an AKS cluster; what may be done there, the cluster says',
  actions: ['Microsoft.ContainerService/managedClusters/listClusterUserCredential/action'],
  dataActions: [],
};

const ofSecrets: Role = { name: 'secrets', description: 'Reads the kubeconfig of a cluster', actions: [], dataActions: ['Microsoft.KeyVault/vaults/secrets/getSecret/action'] };

const definition = ({ names, prefix, parameters }: Install, { name, description, actions, dataActions }: Role): TemplateResource => ({
  type: 'Microsoft.Authorization/roleDefinitions',
  apiVersion: AUTHORIZATION_API,
  name: names.roleId(name).split('/').at(-1) ?? '',
  properties: {
    roleName: `${prefix} ${name} (${parameters.subscription})`,
    description,
    type: 'CustomRole',
    permissions: [{ actions, notActions: [], dataActions, notDataActions: [] }],
    assignableScopes: [names.scope],
  },
});

interface Target {
  readonly groupId: string;
  /** In that group, as type and name; null for the group itself. */
  readonly within: string | null;
}

/** The machines of the whole subscription, or of some groups. */
const machineGrants = (install: Install, dependsOn: readonly string[]): readonly TemplateResource[] => {
  const { names, parameters } = install;
  const role = names.roleId('machines');
  if (parameters.resourceGroups.length === 0) return [assignment(install, { role, on: names.scope, to: names.identityId, dependsOn: [...dependsOn, role] })];
  const operations = names.roleId('operations');
  return [
    assignment(install, { role: operations, on: names.scope, to: names.identityId, dependsOn: [...dependsOn, operations] }),
    ...parameters.resourceGroups.map((group) => elsewhere(install, role, { groupId: `${names.scope}/resourceGroups/${group}`, within: null }, dependsOn)),
  ];
};

/** In a group of somebody else's nothing but this assignment is deployed. */
const elsewhere = (install: Install, role: string, { groupId, within }: Target, dependsOn: readonly string[]): TemplateResource => {
  const on = within === null ? groupId : `${groupId}/providers/${within}`;
  const grant = assignment(install, { role, on, ...(within !== null && { scope: within }), to: install.names.identityId, dependsOn: [] });
  return inGroup(`${install.prefix}-${grant.name}`, { id: groupId, dependsOn: [...dependsOn, role] }, [grant]);
};

const clusterTargets = ({ configuration, names, parameters }: Install): readonly Target[] =>
  configuration.clusters.flatMap((cluster) => {
    if (!('aks' in cluster)) return [];
    const { resourceGroup, cluster: name = cluster.name, subscription = parameters.subscription } = cluster.aks;
    if (subscription.toLowerCase() !== parameters.subscription.toLowerCase()) return [];
    return [{ groupId: `${names.scope}/resourceGroups/${resourceGroup}`, within: `Microsoft.ContainerService/managedClusters/${name}` }];
  });

const secretTargets = ({ configuration, parameters }: Install): readonly Target[] =>
  configuration.clusters.flatMap((cluster) => {
    if (!('keyVault' in cluster)) return [];
    const { vault, secret } = cluster.keyVault;
    const id = parameters.keyVaults.find((one) => one.split('/').at(-1)?.toLowerCase() === (/^(?:https?:\/\/)?([^./:]+)/i.exec(vault)?.[1] ?? '').toLowerCase());
    const [groupId, name] = id?.split(/\/providers\/Microsoft\.KeyVault\/vaults\//i) ?? [];
    return groupId === undefined || name === undefined ? [] : [{ groupId, within: `Microsoft.KeyVault/vaults/${name}/secrets/${secret}` }];
  });

export const customRoles = (install: Install): readonly TemplateResource[] => {
  const { configuration, parameters } = install;
  const roles = [
    ofMachines(configuration.policy.unreachable === 'power-off'),
    ...(parameters.resourceGroups.length > 0 ? [ofOperations] : []),
    ...(clusterTargets(install).length > 0 ? [ofClusters] : []),
    ...(secretTargets(install).length > 0 ? [ofSecrets] : []),
  ];
  return roles.map((role) => definition(install, role));
};

/** Assignments of those roles; the identity is made by the install's own deployment. */
export const customGrants = (install: Install): readonly TemplateResource[] => {
  const { names, prefix } = install;
  const made = [nestedId(names.groupId, prefix)];
  return [
    ...machineGrants(install, made),
    ...clusterTargets(install).map((target) => elsewhere(install, names.roleId('clusters'), target, made)),
    ...secretTargets(install).map((target) => elsewhere(install, names.roleId('secrets'), target, made)),
  ];
};
