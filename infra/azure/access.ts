import { referenceTo, type TemplateResource, groupDeployment, nestedDeploymentId } from './arm.ts';
import {
  type Install,
  resourceTags,
  appNames,
  DEAD_LETTER_QUEUE,
  EVENTS_QUEUE,
  type FunctionApp,
  WHOLE_SUBSCRIPTION,
} from './install.ts';

/**
 * The identities of the functions, their roles for machines, disks, and clusters, and nothing else. docs/azure.md gives
 * the reason for each line.
 */

export const IDENTITY_API_VERSION = '2023-01-31';
export const AUTHORIZATION_API_VERSION = '2022-04-01';

/**
 * Azure's built-in roles that its Functions host requires.
 * https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
 */
export const builtInRoles = {
  blobOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
  blobContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  busReceiver: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0',
  busSender: '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39',
  eventGridSender: 'd5a91429-5739-47e2-a06b-3470a27159e7',
  metricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb',
} as const;

export const managedIdentity = ({ parameters, ...install }: Install, id: string): TemplateResource => ({
  type: 'Microsoft.ManagedIdentity/userAssignedIdentities',
  apiVersion: IDENTITY_API_VERSION,
  name: id.split('/').at(-1) ?? '',
  location: parameters.location,
  tags: resourceTags(install),
});

export const identityIds = ({ names, parameters }: Install): readonly string[] => [
  ...appNames.map((name) => names.apps[name].identityId),
  ...(parameters.keylessDelivery ? [names.deliveryId] : []),
];

/** A role that an identity has on a scope. */
interface Grant {
  /** Full ids of the role, of the scope (`on`), and of the identity (`to`). */
  readonly role: string;
  readonly on: string;
  readonly to: string;
}

export const roleAssignmentId = ({ names }: Install, { role, on, to }: Grant): string =>
  `${on}/providers/Microsoft.Authorization/roleAssignments/${names.assignment(role, on, to)}`;

/**
 * How the surrounding template names the scope. Without `scope`, the scope is the target of that template's deployment.
 */
interface ScopeSpelling {
  readonly scope?: string;
  readonly dependsOn: readonly string[];
}

/** Names the type of the principal, because Azure may not know a new principal everywhere yet. */
const roleAssignment = (
  { names }: Install,
  { role, on, to }: Grant,
  { scope, dependsOn }: ScopeSpelling,
): TemplateResource => ({
  type: 'Microsoft.Authorization/roleAssignments',
  apiVersion: AUTHORIZATION_API_VERSION,
  name: names.assignment(role, on, to),
  ...(scope !== undefined && { scope }),
  dependsOn,
  properties: {
    roleDefinitionId: role,
    principalId: referenceTo(to, IDENTITY_API_VERSION, 'principalId'),
    principalType: 'ServicePrincipal',
  },
});

const builtInRoleId = ({ names }: Install, role: string): string =>
  `${names.scope}/providers/Microsoft.Authorization/roleDefinitions/${role}`;

/** Lets Event Grid's own identity send to the events queue, and nothing else. */
export const eventDeliveryGrant = (install: Install): Grant => ({
  role: builtInRoleId(install, builtInRoles.busSender),
  on: install.names.queueId(EVENTS_QUEUE),
  to: install.names.deliveryId,
});

/** Grants what the Functions host and Azure's logs require for each app, on the app's own resources. */
const hostGrants = (install: Install, { identityId: to, storageId, containerId }: FunctionApp): readonly Grant[] => [
  { role: builtInRoleId(install, builtInRoles.blobOwner), on: storageId, to },
  { role: builtInRoleId(install, builtInRoles.blobContributor), on: containerId, to },
  { role: builtInRoleId(install, builtInRoles.metricsPublisher), on: install.names.insightsId, to },
];

const queueGrants = (install: Install): readonly Grant[] => {
  const { names, parameters } = install;
  const [receiver, sender] = [
    builtInRoleId(install, builtInRoles.busReceiver),
    builtInRoleId(install, builtInRoles.busSender),
  ];
  const [events, dead] = [names.queueId(EVENTS_QUEUE), names.queueId(DEAD_LETTER_QUEUE)];
  const { app, door } = names.apps;
  return [
    { role: receiver, on: events, to: app.identityId },
    { role: sender, on: events, to: app.identityId },
    { role: sender, on: dead, to: app.identityId },
    { role: sender, on: events, to: door.identityId },
    ...(parameters.keylessDelivery ? [eventDeliveryGrant(install)] : []),
  ];
};

/** All grants of the apps and of Event Grid in the install's own group. */
export const ownGrants = (install: Install): readonly Grant[] => [
  ...appNames.flatMap((name) => hostGrants(install, install.names.apps[name])),
  ...queueGrants(install),
];

export const ownAssignments = (install: Install): readonly TemplateResource[] => {
  const within = (id: string): string => id.slice(`${install.names.groupId}/providers/`.length);
  return ownGrants(install).map((grant) =>
    roleAssignment(install, grant, { scope: within(grant.on), dependsOn: [grant.to, grant.on] }),
  );
};

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
  /** Azure's own roles already exist. The template creates the others. */
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
 * Returns the assignments of these roles. The install's own deployment creates the identity. In a group that does not
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
