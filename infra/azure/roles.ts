import { AUTHORIZATION_API_VERSION, builtInRoleId, builtInRoles, type Grant, roleAssignment } from './access.ts';
import { groupDeployment, nestedDeploymentId, type TemplateResource } from './arm-template.ts';
import { type Install, WHOLE_SUBSCRIPTION } from './install.ts';

/**
 * The roles of the functions for machines, disks, and clusters, and nothing else. docs/azure.md gives the reason for
 * each line.
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

/** ARM keeps operations outside resource groups, so a role on groups does not include them. */
const ofOperations: Role = {
  name: 'operations',
  description: 'Reads the progress of an operation',
  actions: ['Microsoft.Compute/locations/operations/read'],
  dataActions: [],
};

const ofClusters: Role = {
  name: 'clusters',
  description: 'Finds the API server of an AKS cluster. The RBAC rules of the cluster determine the permissions there',
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
  apiVersion: AUTHORIZATION_API_VERSION,
  name: names.roleId(name).split('/').at(-1) ?? '',
  properties: {
    roleName: `${prefix} ${name} (${parameters.subscription})`,
    description,
    type: 'CustomRole',
    permissions: [{ actions, notActions: [], dataActions, notDataActions: [] }],
    assignableScopes: [names.scope],
  },
});

/** The scope of a grant in a group that does not belong to the install. */
interface Target {
  readonly groupId: string;
  /** The type and name of a resource in that group, or null for the group itself. */
  readonly within: string | null;
}

interface GrantElsewhere extends Grant {
  /** Null for the subscription itself. */
  readonly target: Target | null;
  /** Azure's own role exists already. The others are made by the template. */
  readonly isBuiltIn: boolean;
}

const grantAt = ({ names }: Install, role: RoleName, target: Target | null): GrantElsewhere => {
  const on =
    target === null ? names.scope : `${target.groupId}${target.within === null ? '' : `/providers/${target.within}`}`;
  return { role: names.roleId(role), on, to: names.identityId, target, isBuiltIn: false };
};

/** Grants on the machines of the named groups, or of the whole subscription if the parameter explicitly says so. */
const machineGrants = (install: Install): readonly GrantElsewhere[] => {
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

/** Lets the identity that fences send to the user's topic, wherever that is. */
const topicGrants = (install: Install): readonly GrantElsewhere[] => {
  const { names, parameters } = install;
  const [groupId, name] = parameters.incidentTopic?.split(/\/providers\/Microsoft\.EventGrid\/topics\//i) ?? [];
  if (groupId === undefined || name === undefined || parameters.incidentTopic === null) return [];
  const role = builtInRoleId(install, builtInRoles.eventGridSender);
  const target = { groupId, within: `Microsoft.EventGrid/topics/${name}` };
  return [{ role, on: parameters.incidentTopic, to: names.identityId, target, isBuiltIn: true }];
};

/** All grants outside the install's own group. Each goes to the identity that fences. */
export const customGrants = (install: Install): readonly GrantElsewhere[] => [
  ...machineGrants(install),
  ...clusterTargets(install).map((target) => grantAt(install, 'clusters', target)),
  ...secretTargets(install).map((target) => grantAt(install, 'secrets', target)),
  ...topicGrants(install),
];

/**
 * Returns the assignments of these roles. The install's own deployment makes the identity. In a group that does not
 * belong to the install, only the assignment is deployed.
 */
export const customAssignments = (install: Install): readonly TemplateResource[] => {
  const { names, prefix } = install;
  const made = nestedDeploymentId(names.groupId, prefix);
  return customGrants(install).map((grant) => {
    const { target, role, isBuiltIn } = grant;
    const dependsOn = isBuiltIn ? [made] : [made, role];
    if (target === null) return roleAssignment(install, grant, { dependsOn });
    const inside = roleAssignment(install, grant, {
      ...(target.within !== null && { scope: target.within }),
      dependsOn: [],
    });
    return groupDeployment(`${prefix}-${inside.name}`, { id: target.groupId, dependsOn }, [inside]);
  });
};
