import { assignment, AUTHORIZATION_API, type Grant } from './access.ts';
import { inGroup, nestedId, type TemplateResource } from './arm-template.ts';
import { type Install, WHOLE_SUBSCRIPTION } from './install.ts';

/**
 * What the functions may do with machines, disks and clusters, and nothing else. docs/azure.md has the reason of each
 * line.
 */

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
    .flatMap((kind) => [
      `${kind}/read`,
      `${kind}/instanceView/read`,
      `${kind}/attachDetachDataDisks/action`,
      ...(powersOff ? [`${kind}/powerOff/action`] : []),
    ])
    .concat('disks/read', 'locations/operations/read')
    .map((action) => `Microsoft.Compute/${action}`)
    .concat('Microsoft.Authorization/permissions/read'),
  dataActions: [],
});

/** ARM keeps operations beside the groups: a role that reaches over some groups does not reach them. */
const ofOperations: Role = {
  name: 'operations',
  description: 'Sees how an operation goes on',
  actions: ['Microsoft.Compute/locations/operations/read'],
  dataActions: [],
};

const ofClusters: Role = {
  name: 'clusters',
  description: 'Finds the API server of an AKS cluster; what may be done there, the cluster says',
  actions: ['Microsoft.ContainerService/managedClusters/listClusterUserCredential/action'],
  dataActions: [],
};

const ofSecrets: Role = {
  name: 'secrets',
  description: 'Reads the kubeconfig of a cluster',
  actions: [],
  dataActions: ['Microsoft.KeyVault/vaults/secrets/getSecret/action'],
};

const definition = (
  { names, prefix, parameters }: Install,
  { name, description, actions, dataActions }: Role,
): TemplateResource => ({
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

/** What a grant is on, in a group of somebody else's. */
interface Target {
  readonly groupId: string;
  /** In that group, as type and name; null for the group itself. */
  readonly within: string | null;
}

interface Elsewhere extends Grant {
  /** Null for the subscription itself. */
  readonly target: Target | null;
}

const grantAt = ({ names }: Install, role: RoleName, target: Target | null): Elsewhere => {
  const on =
    target === null ? names.scope : `${target.groupId}${target.within === null ? '' : `/providers/${target.within}`}`;
  return { role: names.roleId(role), on, to: names.identityId, target };
};

/** The machines of the groups that are named, or of the whole subscription where exactly that is asked for. */
const machineGrants = (install: Install): readonly Elsewhere[] => {
  const { names, parameters } = install;
  if (parameters.resourceGroups === WHOLE_SUBSCRIPTION) return [grantAt(install, 'machines', null)];
  const groups = parameters.resourceGroups.map((group) =>
    grantAt(install, 'machines', { groupId: `${names.scope}/resourceGroups/${group}`, within: null }),
  );
  return [grantAt(install, 'operations', null), ...groups];
};

const clusterTargets = ({ configuration, names, parameters }: Install): readonly Target[] =>
  configuration.clusters.flatMap((cluster) => {
    if (!('aks' in cluster)) return [];
    const { resourceGroup, cluster: name = cluster.name, subscription = parameters.subscription } = cluster.aks;
    if (subscription.toLowerCase() !== parameters.subscription.toLowerCase()) return [];
    return [
      {
        groupId: `${names.scope}/resourceGroups/${resourceGroup}`,
        within: `Microsoft.ContainerService/managedClusters/${name}`,
      },
    ];
  });

const secretTargets = ({ configuration, parameters }: Install): readonly Target[] =>
  configuration.clusters.flatMap((cluster) => {
    if (!('keyVault' in cluster)) return [];
    const { vault, secret } = cluster.keyVault;
    const id = parameters.keyVaults.find(
      (one) =>
        one.split('/').at(-1)?.toLowerCase() === (/^(?:https?:\/\/)?([^./:]+)/i.exec(vault)?.[1] ?? '').toLowerCase(),
    );
    const [groupId, name] = id?.split(/\/providers\/Microsoft\.KeyVault\/vaults\//i) ?? [];
    return groupId === undefined || name === undefined
      ? []
      : [{ groupId, within: `Microsoft.KeyVault/vaults/${name}/secrets/${secret}` }];
  });

export const customRoles = (install: Install): readonly TemplateResource[] => {
  const { configuration, parameters } = install;
  const roles = [
    ofMachines(configuration.policy.unreachable === 'power-off'),
    ...(parameters.resourceGroups === WHOLE_SUBSCRIPTION ? [] : [ofOperations]),
    ...(clusterTargets(install).length > 0 ? [ofClusters] : []),
    ...(secretTargets(install).length > 0 ? [ofSecrets] : []),
  ];
  return roles.map((role) => definition(install, role));
};

/** Grants of those roles, all to the identity that fences. */
export const customGrants = (install: Install): readonly Elsewhere[] => [
  ...machineGrants(install),
  ...clusterTargets(install).map((target) => grantAt(install, 'clusters', target)),
  ...secretTargets(install).map((target) => grantAt(install, 'secrets', target)),
];

/**
 * The identity is made by the install's own deployment. In a group of somebody else's nothing but the assignment is
 * deployed.
 */
export const customAssignments = (install: Install): readonly TemplateResource[] => {
  const { names, prefix } = install;
  const made = nestedId(names.groupId, prefix);
  return customGrants(install).map((grant) => {
    const { target, role } = grant;
    if (target === null) return assignment(install, grant, { dependsOn: [made, role] });
    const inside = assignment(install, grant, {
      ...(target.within !== null && { scope: target.within }),
      dependsOn: [],
    });
    return inGroup(`${prefix}-${inside.name}`, { id: target.groupId, dependsOn: [made, role] }, [inside]);
  });
};
