import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { builtInRoles, roleNames } from '../../../infra/azure/access.ts';
import { deployable } from '../../../infra/azure/cloud.ts';
import { azureParameters } from '../../../infra/azure/install.ts';
import { installFor, ofType, placedFor, type Placed } from './packaged-template.ts';
import { full, plain, SUBSCRIPTION } from './stage-files.ts';

const usual = placedFor('prod', plain);
/** Covers every machine, because exactly that is configured. */
const whole = placedFor('whole', { ...plain, resourceGroups: 'all-of-subscription' });
const other = placedFor('full', full);

const texts = z.array(z.string());
const host = z.object({
  functionTimeout: z.string(),
  extensions: z.object({ serviceBus: z.object({ maxAutoLockRenewalDuration: z.string() }) }),
});
const role = z.object({
  roleName: z.string(),
  assignableScopes: texts,
  permissions: z.array(z.object({ actions: texts, dataActions: texts })),
});
const grant = z.object({ roleDefinitionId: z.string(), principalId: z.string() });
const site = z.object({
  siteConfig: z.object({ appSettings: z.array(z.object({ name: z.string(), value: z.string() })) }),
});

const rolesIn = (placed: readonly Placed[]) =>
  Object.fromEntries(
    ofType(placed, 'Authorization/roleDefinitions').map(({ properties }) => {
      const { roleName, permissions } = role.parse(properties);
      return [
        roleName.split(' ')[1],
        permissions.flatMap(({ actions, dataActions }) => [...actions, ...dataActions]).toSorted(),
      ];
    }),
  );

const grantsIn = (placed: readonly Placed[], named: Readonly<Record<string, string>>) =>
  ofType(placed, 'Authorization/roleAssignments')
    .map(({ properties, scope, group }) => {
      const { roleDefinitionId, principalId } = grant.parse(properties);
      const id = roleDefinitionId.split('/').at(-1) ?? '';
      const [, who = 'app'] = /userAssignedIdentities\/cloudfence-[a-z]+(?:-([a-z]+))?'/.exec(principalId) ?? [];
      return `${who}: ${named[id] ?? id} on ${scope ?? (group === null ? 'the subscription' : `the group ${group}`)}`;
    })
    .toSorted();

const namesOfRoles = (stage: string, written: object) => ({
  ...Object.fromEntries(Object.entries(builtInRoles).map(([name, id]) => [id, name])),
  ...Object.fromEntries(
    roleNames.map((role) => [installFor(stage, written).names.roleId(role).split('/').at(-1), role]),
  ),
});

const looking = [
  'disks/read',
  'locations/operations/read',
  ...['virtualMachines', 'virtualMachineScaleSets/virtualMachines'].flatMap((kind) => [
    `${kind}/attachDetachDataDisks/action`,
    `${kind}/instanceView/read`,
    `${kind}/read`,
  ]),
]
  .map((action) => `Microsoft.Compute/${action}`)
  .concat('Microsoft.Authorization/permissions/read');
const stopping = ['virtualMachines', 'virtualMachineScaleSets/virtualMachines'].map(
  (kind) => `Microsoft.Compute/${kind}/powerOff/action`,
);

describe('the roles', () => {
  it('may do exactly what the functions call, and power off only if the policy says so', () => {
    expect(rolesIn(usual)).toEqual({
      machines: looking.toSorted(),
      operations: ['Microsoft.Compute/locations/operations/read'],
      clusters: ['Microsoft.ContainerService/managedClusters/listClusterUserCredential/action'],
    });
    expect(rolesIn(other)).toMatchObject({
      machines: [...looking, ...stopping].toSorted(),
      operations: ['Microsoft.Compute/locations/operations/read'],
      secrets: ['Microsoft.KeyVault/vaults/secrets/getSecret/action'],
    });
    expect(JSON.stringify([rolesIn(usual), rolesIn(other)])).not.toContain('*');
  });

  it('are granted where they are needed, and nowhere else', () => {
    const { apps, bus, packages } = installFor('prod', plain).names;
    const container = (name: string) =>
      `Microsoft.Storage/storageAccounts/${packages}/blobServices/default/containers/${name}`;
    expect(grantsIn(usual, namesOfRoles('prod', plain))).toEqual([
      `app: blobContributor on ${container('app')}`,
      `app: blobOwner on Microsoft.Storage/storageAccounts/${apps.app.storage}`,
      `app: busReceiver on Microsoft.ServiceBus/namespaces/${bus}/queues/events`,
      `app: busSender on Microsoft.ServiceBus/namespaces/${bus}/queues/dead-letters`,
      `app: busSender on Microsoft.ServiceBus/namespaces/${bus}/queues/events`,
      'app: clusters on Microsoft.ContainerService/managedClusters/prod',
      'app: machines on the group MC_blue',
      'app: metricsPublisher on Microsoft.Insights/components/cloudfence-prod',
      'app: operations on the subscription',
      `delivery: busSender on Microsoft.ServiceBus/namespaces/${bus}/queues/events`,
      `door: blobContributor on ${container('door')}`,
      `door: blobOwner on Microsoft.Storage/storageAccounts/${apps.door.storage}`,
      `door: busSender on Microsoft.ServiceBus/namespaces/${bus}/queues/events`,
      'door: metricsPublisher on Microsoft.Insights/components/cloudfence-prod',
    ]);
    expect(new Set([apps.app.storage, apps.door.storage, packages]).size).toBe(3);
  });

  it('cover the whole subscription only if exactly that is configured', () => {
    expect(grantsIn(whole, namesOfRoles('whole', plain)).filter((line) => /machines|operations/.test(line))).toEqual([
      'app: machines on the subscription',
    ]);
    for (const resourceGroups of [null, [], '', 'everything'])
      expect(() => installFor('prod', { ...plain, resourceGroups })).toThrow(
        /resourceGroups: list the resource groups .* or write all-of-subscription/,
      );
    expect(() => installFor('prod', { ...plain, resourceGroups: undefined })).toThrow(/resourceGroups/);
    expect(() => installFor('prod', { ...plain, resourceGroups: ['no/name'] })).toThrow(
      /is not the name of a resource group/,
    );
  });

  it('cover only the named groups, if there are any, and allow to read only the named secrets', () => {
    const elsewhere = grantsIn(other, namesOfRoles('full', full)).filter((line) =>
      /: (machines|operations|clusters|secrets|eventGridSender)/.test(line),
    );
    expect(elsewhere).toEqual([
      'app: clusters on Microsoft.ContainerService/managedClusters/blue',
      'app: eventGridSender on Microsoft.EventGrid/topics/incidents',
      'app: machines on the group MC_blue',
      'app: machines on the group MC_green',
      'app: operations on the subscription',
      'app: secrets on Microsoft.KeyVault/vaults/kv-fences/secrets/kubeconfig',
    ]);
  });

  it('can be assigned only in this subscription', () => {
    for (const { properties } of ofType(other, 'Authorization/roleDefinitions'))
      expect(role.parse(properties).assignableScopes).toEqual([`/subscriptions/${SUBSCRIPTION}`]);
  });
});

describe('what is deployed', () => {
  it('accepts only TLS 1.2 or later, and has no public blob, no passwords, and no keys in settings', () => {
    for (const placed of [usual, other]) {
      expect(ofType(placed, 'Storage/storageAccounts')).toHaveLength(3);
      for (const { properties } of ofType(placed, 'Storage/storageAccounts'))
        expect(properties).toMatchObject({
          allowBlobPublicAccess: false,
          allowSharedKeyAccess: false,
          minimumTlsVersion: 'TLS1_2',
          supportsHttpsTrafficOnly: true,
        });
      expect(ofType(placed, 'ServiceBus/namespaces')[0]?.properties).toMatchObject({ minimumTlsVersion: '1.2' });
      for (const { properties } of ofType(placed, 'Web/sites'))
        expect(properties).toMatchObject({ httpsOnly: true, siteConfig: { minTlsVersion: '1.2' } });
      expect(
        ofType(placed, 'Web/sites/basicPublishingCredentialsPolicies').map(({ properties }) => properties),
      ).toEqual(Array.from({ length: 4 }, () => ({ allow: false })));
      expect(JSON.stringify(placed)).not.toMatch(/AccountKey|SharedAccessKey|listKeys/i);
    }
  });

  it('keeps incidents in a private container for their time, and sends them to the topic', () => {
    const { storage } = installFor('full', full).names.apps.app;
    expect(
      ofType(other, 'Storage/storageAccounts/blobServices/containers').find(({ name }) => name.endsWith('/incidents')),
    ).toMatchObject({ name: `${storage}/default/incidents`, properties: { publicAccess: 'None' } });
    expect(JSON.stringify(ofType(other, 'Storage/storageAccounts/managementPolicies'))).toContain(
      '"daysAfterModificationGreaterThan":90',
    );
    const settings = ofType(other, 'Web/sites').map(({ name, properties }) => ({
      name,
      set: site.parse(properties).siteConfig.appSettings.filter((one) => one.name.startsWith('CLOUDFENCE_INCIDENT')),
    }));
    expect(settings.find(({ name }) => name.includes('door'))?.set).toEqual([]);
    expect(settings.find(({ name }) => !name.includes('door'))?.set).toEqual([
      { name: 'CLOUDFENCE_INCIDENT_CONTAINER', value: `https://${storage}.blob.core.windows.net/incidents` },
      { name: 'CLOUDFENCE_INCIDENT_TOPIC', value: `[reference('${full.incidentTopic}', '2022-06-15').endpoint]` },
    ]);
  });

  it('keeps the dead letters of every queue', () => {
    const queues = ofType(usual, 'ServiceBus/namespaces/queues');
    expect(queues.map(({ name }) => name.split('/')[1])).toEqual(['events', 'dead-letters']);
    for (const { properties } of queues)
      expect(properties).toMatchObject({
        deadLetteringOnMessageExpiration: true,
        maxDeliveryCount: 20,
        lockDuration: 'PT5M',
      });
  });

  it('runs in a host that gives each invocation, and its lock, more time than the longest timeout', () => {
    const { functionTimeout, extensions } = host.parse(JSON.parse(deployable.files?.['host.json'] ?? ''));
    expect(azureParameters.shape.timeout.safeParse('5m').success).toBe(false);
    expect([functionTimeout, extensions.serviceBus.maxAutoLockRenewalDuration]).toEqual(['00:05:00', '00:05:00']);
  });

  it('tells the app which groups it serves, unless it serves the whole subscription', () => {
    const groupsIn = (placed: readonly Placed[]) =>
      ofType(placed, 'Web/sites')
        .flatMap(({ properties }) => site.parse(properties).siteConfig.appSettings)
        .filter(({ name }) => name === 'CLOUDFENCE_RESOURCE_GROUPS')
        .map(({ value }) => value);
    expect([usual, other, whole].map(groupsIn)).toEqual([['MC_blue'], ['MC_blue,MC_green'], []]);
  });

  it('has the tag and the prefix of its stage, so that stages can coexist', () => {
    for (const placed of [usual, other])
      for (const one of placed.filter(({ location }) => location !== undefined))
        expect({ name: one.name, tags: one.tags }).toMatchObject({
          tags: { cloudfence: expect.stringMatching(/^cloudfence-(prod|full)$/) },
        });
    expect(JSON.stringify(other)).not.toContain('cloudfence-prod');
    const { apps, packages } = installFor('a-stage-of-14c', plain).names;
    for (const account of [apps.app.storage, apps.door.storage, packages]) expect(account).toMatch(/^[a-z0-9]{3,24}$/);
  });

  it('has the size and the schedule that the parameters give', () => {
    const setting = (placed: readonly Placed[], name: string) => {
      const { siteConfig } = site.parse(ofType(placed, 'Web/sites')[0]?.properties);
      return siteConfig.appSettings.find((one) => one.name === name)?.value;
    };
    expect([
      setting(usual, 'CLOUDFENCE_SWEEP'),
      setting(other, 'CLOUDFENCE_SWEEP'),
      setting(other, 'CLOUDFENCE_TIMEOUT_SECONDS'),
    ]).toEqual(['0 */1 * * * *', '0 */10 * * * *', '120']);
    expect(JSON.parse(setting(other, 'CLOUDFENCE_SETTINGS') ?? '')).toMatchObject({ shadow: true, pause: full.pause });
    expect(ofType(other, 'Web/sites')[0]?.properties).toMatchObject({
      virtualNetworkSubnetId: full.subnet,
      functionAppConfig: {
        runtime: { name: 'node', version: '22' },
        scaleAndConcurrency: { instanceMemoryMB: 2048, maximumInstanceCount: 50 },
      },
    });
  });
});
