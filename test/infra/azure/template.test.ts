import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { builtIn } from '../../../infra/azure/access.ts';
import { roleNames } from '../../../infra/azure/roles.ts';
import { tellingEndings } from '../../../infra/azure/topics.ts';
import { metric } from '../../../functions/names.ts';
import { reasonIn } from '../../../providers/azure/events/operations.ts';
import { installFor, ofType, placedFor, type Placed } from './packaged-template.ts';
import { full, plain, SUBSCRIPTION } from './stage-files.ts';

const usual = placedFor('prod', plain);
const other = placedFor('full', full);

const texts = z.array(z.string());
const role = z.object({ roleName: z.string(), assignableScopes: texts, permissions: z.array(z.object({ actions: texts, dataActions: texts })) });
const grant = z.object({ roleDefinitionId: z.string() });
const site = z.object({ siteConfig: z.object({ appSettings: z.array(z.object({ name: z.string(), value: z.string() })) }) });
const subscribed = z.object({ filter: z.object({ includedEventTypes: texts, advancedFilters: z.array(z.object({ values: texts })) }) });

const rolesIn = (placed: readonly Placed[]) =>
  Object.fromEntries(
    ofType(placed, 'Authorization/roleDefinitions').map(({ properties }) => {
      const { roleName, permissions } = role.parse(properties);
      return [roleName.split(' ')[1], permissions.flatMap(({ actions, dataActions }) => [...actions, ...dataActions]).toSorted()];
    }),
  );

const grantsIn = (placed: readonly Placed[], named: Readonly<Record<string, string>>) =>
  ofType(placed, 'Authorization/roleAssignments')
    .map(({ properties, scope, group }) => {
      const id = grant.parse(properties).roleDefinitionId.split('/').at(-1) ?? '';
      return `${named[id] ?? id} on ${scope ?? (group === null ? 'the subscription' : `the group ${group}`)}`;
    })
    .toSorted();

const namesOfRoles = (stage: string, written: object) => ({
  ...Object.fromEntries(Object.entries(builtIn).map(([name, id]) => [id, name])),
  ...Object.fromEntries(roleNames.map((role) => [installFor(stage, written).names.roleId(role).split('/').at(-1), role])),
});

const looking = ['disks/read', 'locations/operations/read', ...['virtualMachines', 'virtualMachineScaleSets/virtualMachines'].flatMap((kind) => [`${kind}/attachDetachDataDisks/action`, `${kind}/instanceView/read`, `${kind}/read`])].map((action) => `Microsoft.Compute/${action}`);
const stopping = ['virtualMachines', 'virtualMachineScaleSets/virtualMachines'].map((kind) => `Microsoft.Compute/${kind}/powerOff/action`);

describe('the roles', () => {
  it('may do exactly what the functions call, and power off only by policy', () => {
    expect(rolesIn(usual)).toEqual({ machines: looking.toSorted(), clusters: ['Microsoft.ContainerService/managedClusters/listClusterUserCredential/action'] });
    expect(rolesIn(other)).toMatchObject({ machines: [...looking, ...stopping].toSorted(), operations: ['Microsoft.Compute/locations/operations/read'], secrets: ['Microsoft.KeyVault/vaults/secrets/getSecret/action'] });
    expect(JSON.stringify([rolesIn(usual), rolesIn(other)])).not.toContain('*');
  });

  it('are granted where they are needed, and nowhere else', () => {
    const { storage, bus } = installFor('prod', plain).names;
    expect(grantsIn(usual, namesOfRoles('prod', plain))).toEqual([
      `blobOwner on Microsoft.Storage/storageAccounts/${storage}`,
      `busReceiver on Microsoft.ServiceBus/namespaces/${bus}/queues/events`,
      `busSender on Microsoft.ServiceBus/namespaces/${bus}/queues/dead-letters`,
      `busSender on Microsoft.ServiceBus/namespaces/${bus}/queues/events`,
      'clusters on Microsoft.ContainerService/managedClusters/prod',
      'machines on the subscription',
      'metricsPublisher on Microsoft.Insights/components/cloudfence-prod',
    ]);
  });

  it('reach over the named groups only, if there are any, and read the named secrets only', () => {
    const elsewhere = grantsIn(other, namesOfRoles('full', full)).filter((line) => /^(machines|operations|clusters|secrets)/.test(line));
    expect(elsewhere).toEqual(['clusters on Microsoft.ContainerService/managedClusters/blue', 'machines on the group MC_blue', 'machines on the group MC_green', 'operations on the subscription', 'secrets on Microsoft.KeyVault/vaults/kv-fences/secrets/kubeconfig']);
  });

  it('can be assigned in this subscription only', () => {
    for (const { properties } of ofType(other, 'Authorization/roleDefinitions')) expect(role.parse(properties).assignableScopes).toEqual([`/subscriptions/${SUBSCRIPTION}`]);
  });
});

describe('what is deployed', () => {
  it('speaks TLS 1.2 or better only, has no public blob, no passwords and no keys in settings', () => {
    for (const placed of [usual, other]) {
      expect(ofType(placed, 'Storage/storageAccounts')[0]?.properties).toMatchObject({ allowBlobPublicAccess: false, allowSharedKeyAccess: false, minimumTlsVersion: 'TLS1_2', supportsHttpsTrafficOnly: true });
      expect(ofType(placed, 'ServiceBus/namespaces')[0]?.properties).toMatchObject({ minimumTlsVersion: '1.2' });
      expect(ofType(placed, 'Web/sites')[0]?.properties).toMatchObject({ httpsOnly: true, siteConfig: { minTlsVersion: '1.2', ftpsState: 'Disabled' } });
      expect(ofType(placed, 'Web/sites/basicPublishingCredentialsPolicies').map(({ properties }) => properties)).toEqual([{ allow: false }, { allow: false }]);
      expect(JSON.stringify(placed)).not.toMatch(/AccountKey|SharedAccessKey|listKeys/i);
    }
  });

  it('keeps dead letters of every queue', () => {
    const queues = ofType(usual, 'ServiceBus/namespaces/queues');
    expect(queues.map(({ name }) => name.split('/')[1])).toEqual(['events', 'dead-letters']);
    for (const { properties } of queues) expect(properties).toMatchObject({ deadLetteringOnMessageExpiration: true, maxDeliveryCount: 20, lockDuration: 'PT5M' });
  });

  it('bears the tag and the prefix of its stage, so that stages stand beside each other', () => {
    for (const placed of [usual, other]) for (const one of placed.filter(({ location }) => location !== undefined)) expect({ name: one.name, tags: one.tags }).toMatchObject({ tags: { cloudfence: expect.stringMatching(/^cloudfence-(prod|full)$/) } });
    expect(JSON.stringify(other)).not.toContain('cloudfence-prod');
    expect(installFor('a-stage-of-14c', plain).names.storage).toMatch(/^[a-z0-9]{3,24}$/);
  });

  it('is as large and as late as the parameters say', () => {
    const setting = (placed: readonly Placed[], name: string) => {
      const { siteConfig } = site.parse(ofType(placed, 'Web/sites')[0]?.properties);
      return siteConfig.appSettings.find((one) => one.name === name)?.value;
    };
    expect([setting(usual, 'CLOUDFENCE_SWEEP'), setting(other, 'CLOUDFENCE_SWEEP'), setting(other, 'CLOUDFENCE_TIMEOUT_SECONDS')]).toEqual(['0 */1 * * * *', '0 */10 * * * *', '120']);
    expect(JSON.parse(setting(other, 'CLOUDFENCE_SETTINGS') ?? '')).toMatchObject({ shadow: true, pause: full.pause });
    expect(ofType(other, 'Web/sites')[0]?.properties).toMatchObject({ virtualNetworkSubnetId: full.subnet, functionAppConfig: { runtime: { name: 'node', version: '22' }, scaleAndConcurrency: { instanceMemoryMB: 2048, maximumInstanceCount: 50 } } });
  });
});

describe('the topics', () => {
  const filterOf = ({ properties }: Placed) => subscribed.parse(properties).filter;

  it('bring every operation that is understood, and none that tells nothing', () => {
    expect(tellingEndings.filter((ending) => reasonIn(`Microsoft.Compute/virtualMachines${ending}`) === null)).toEqual([]);
    expect(tellingEndings).toHaveLength(16);
    const [operations] = ofType(usual, 'EventGrid/systemTopics/eventSubscriptions').map(filterOf);
    expect(operations?.includedEventTypes).toHaveLength(9);
    expect(operations?.advancedFilters.flatMap(({ values }) => values).length).toBeLessThanOrEqual(25);
    expect('Microsoft.Compute/virtualMachines/attachDetachDataDisks/action').not.toMatch(new RegExp(`(${tellingEndings.join('|')})$`));
  });

  it('use the topic that is there, in its own group, and one more for health', () => {
    expect(ofType(other, 'EventGrid/systemTopics').map(({ name }) => name)).toEqual(['cloudfence-full-health']);
    const subscriptions = ofType(other, 'EventGrid/systemTopics/eventSubscriptions').map(({ name, group }) => `${name} in ${group}`);
    expect(subscriptions.toSorted()).toEqual(['cloudfence-full-health/cloudfence-full in cloudfence-full', 'of-all/cloudfence-full in rg-events']);
  });

  it('deliver by an identity, and the keys are off, when asked to', () => {
    expect(ofType(usual, 'ServiceBus/namespaces')[0]?.properties).toMatchObject({ disableLocalAuth: false });
    expect(ofType(other, 'ServiceBus/namespaces')[0]?.properties).toMatchObject({ disableLocalAuth: true });
    for (const { properties } of ofType(other, 'EventGrid/systemTopics/eventSubscriptions')) expect(properties).toMatchObject({ deliveryWithResourceIdentity: { identity: { type: 'UserAssigned' } } });
  });
});

describe('the alerts', () => {
  it('watch dead letters, failures and a dead node under the name that the functions measure by', () => {
    const names = [...ofType(usual, 'Insights/metricAlerts'), ...ofType(usual, 'Insights/scheduledQueryRules')].map(({ name }) => name.replace('cloudfence-prod-', ''));
    expect(names.toSorted()).toEqual(['backlog', 'cap-reached', 'dead-letters', 'dead-node-unfenced', 'dropped-events', 'failures', 'given-up', 'sweep-missing']);
    expect(JSON.stringify(ofType(usual, 'Insights/scheduledQueryRules'))).toContain(`line.${metric.deadNodeUnfenced}`);
    expect(JSON.stringify(ofType(usual, 'Insights/scheduledQueryRules'))).toContain(`line.${metric.capReached}`);
  });

  it('tell the action group, if there is one', () => {
    for (const { properties } of ofType(other, 'Insights/metricAlerts')) expect(properties).toMatchObject({ actions: [{ actionGroupId: full.actionGroup }] });
    for (const { properties } of ofType(other, 'Insights/scheduledQueryRules')) expect(properties).toMatchObject({ actions: { actionGroups: [full.actionGroup] } });
    expect(JSON.stringify(ofType(usual, 'Insights/scheduledQueryRules'))).toContain('"actionGroups":[]');
  });
});
