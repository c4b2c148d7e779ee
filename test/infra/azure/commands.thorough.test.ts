import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openService, type PackagedService } from '../packaged-service.ts';
import { openManagement, OTHERS, type Management } from './management.ts';
import { full, plain } from './stage-files.ts';

/**
 * The commands of `serverless` as a person types them, with the stand-in of ARM. Each is a process that may have to
 * bundle.
 */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

let service: PackagedService;
let management: Management;

beforeAll(async () => {
  service = await openService({ 'prod.azure': plain, 'full.azure': full });
  management = await openManagement();
});
afterAll(async () => {
  await management.close();
  await service.close();
});

/** What exists now and did not exist before the deployment, and the part of it that is in groups of other owners. */
const ours = () => [...management.azure.held.values()].filter(({ name }) => !OTHERS.includes(name));
const elsewhere = () => ours().flatMap(({ id }) => /resourceGroups\/(rg-\w+|MC_\w+)\//.exec(id)?.[1] ?? []);

/** Where a deployment leaves its package. Another deployment can use it without building it again. */
const PACKAGE = '.serverless';

const run = (command: readonly string[], stage = 'prod') =>
  service.run([...command, '-c', 'serverless.azure.yml', '--stage', stage], management.environment);
const types = () => new Set([...management.azure.held.values()].map(({ type }) => type));
const written = async (command: readonly string[]) => {
  const before = management.writes().length;
  return { ...(await run(command)), writes: management.writes().slice(before) };
};

it('rejects invalid parameters, with all errors at once, and then deploys nothing', async () => {
  const params = [
    'sweepEvery=7m',
    'memory=1',
    'nonsense=1',
    'systemTopic=a',
    'clusters=[{"name": "a", "kubeconfig": "a file"}]',
    'resourceGroups=[]',
  ].map((param) => `--param=${param}`);
  const { code, said, writes } = await written(['deploy', ...params]);
  expect([code, writes]).toEqual([1, []]);
  for (const fault of [
    /sweepEvery/,
    /memory/,
    /nonsense/,
    /systemTopic/,
    /clusters\.0: .*keyVault/,
    /resourceGroups: .*all-of-subscription/,
  ])
    expect(said).toMatch(fault);
  expect(await run(['package'], 'a-stage-with-a-very-long-name')).toMatchObject({
    code: 1,
    said: expect.stringMatching(/stage: .*14[\s\S]*subscription[\s\S]*clusters: add at least one/),
  });
});

describe('serverless', () => {
  it('deploy --preview says what would be created, and creates nothing', async () => {
    expect(await written(['deploy', '--preview'])).toMatchObject({
      code: 0,
      writes: [],
      said: expect.stringMatching(/Create: .*Microsoft\.Web\/sites/),
    });
    expect(management.azure.held.size).toBe(OTHERS.length);
    expect(await run(['info'])).toMatchObject({ code: 0, said: expect.stringMatching(/app: not deployed/) });
    expect(await run(['invoke', '-f', 'doctor'])).toMatchObject({
      code: 1,
      said: expect.stringMatching(/the function doctor does not exist/),
    });
  });

  it('deploy creates everything, and nothing the second time', async () => {
    expect(await run(['deploy'])).toMatchObject({
      code: 0,
      said: expect.stringMatching(
        /Microsoft\.Web\/sites\/cloudfence-prod-\w+: create[\s\S]*package of cloudfence-prod-\w+: published/,
      ),
    });
    expect(types()).toEqual(
      new Set(
        [
          'Resources/resourceGroups',
          'Web/sites',
          'Web/serverfarms',
          'Web/sites/basicPublishingCredentialsPolicies',
          'Storage/storageAccounts',
          'Storage/storageAccounts/blobServices/containers',
          'Storage/storageAccounts/managementPolicies',
          'ServiceBus/namespaces',
          'ServiceBus/namespaces/queues',
          'EventGrid/systemTopics',
          'EventGrid/systemTopics/eventSubscriptions',
          'ManagedIdentity/userAssignedIdentities',
          'OperationalInsights/workspaces',
          'Insights/components',
          'Insights/metricAlerts',
          'Insights/scheduledQueryRules',
          'Insights/workbooks',
          'Authorization/roleDefinitions',
          'Authorization/roleAssignments',
        ].map((type) => `Microsoft.${type}`),
      ),
    );
    expect(await written(['deploy'])).toMatchObject({
      code: 0,
      writes: [],
      said: expect.stringMatching(/template: unchanged[\s\S]*package of cloudfence-prod-\w+: unchanged/),
    });
    expect(management.azure.packages).toHaveLength(2);
  });

  it('info, logs and invoke answer', async () => {
    expect(await run(['info'])).toMatchObject({
      code: 0,
      said: expect.stringMatching(/app: cloudfence-prod-\w+, Running[\s\S]*fence: https:\/\/127/),
    });
    expect(await run(['logs', '-f', 'sweep'])).toMatchObject({ code: 0, said: expect.stringMatching(/swept/) });
    management.azure.answers.set('doctor', { checks: [] });
    expect(await run(['invoke', '-f', 'doctor', '-d', '{}'])).toMatchObject({
      code: 0,
      said: expect.stringMatching(/"checks": \[\]/),
    });
    const local = await run(['invoke', 'local', '-f', 'fence', '-d', '{"instance": 1}']);
    expect(local).toMatchObject({ code: 0, said: expect.stringMatching(/"status": 400[\s\S]*resourceId/) });
  });

  it('deploy removes what is no longer wanted', async () => {
    const alerts = () =>
      [...management.azure.held.values()].filter(
        ({ type, name }) => type === 'Microsoft.EventGrid/systemTopics' && name.endsWith('-health'),
      );
    await run(['deploy', '--param=health=true', '--package', PACKAGE]);
    expect(alerts()).toHaveLength(1);
    const { said } = await run(['deploy', '--package', PACKAGE]);
    expect([alerts(), said]).toEqual([[], expect.stringMatching(/cloudfence-prod-health: removed/)]);
  });

  it('remove is refused while there are fences, and leaves nothing behind afterwards', async () => {
    management.azure.answers.set('doctor', { fences: [{ cluster: 'prod', node: 'node-7' }] });
    expect(await written(['remove'])).toMatchObject({
      code: 1,
      writes: [],
      said: expect.stringMatching(/Node node-7 in prod/),
    });
    management.azure.answers.set('doctor', { fences: [] });
    expect(await run(['remove'])).toMatchObject({ code: 0 });
    expect([
      [...management.azure.held.values()].map(({ name }) => name),
      [...management.azure.deployments.keys()],
    ]).toEqual([OTHERS, []]);
    expect(await written(['remove'])).toMatchObject({ code: 0, writes: [] });
  });

  it('deploy and remove also work in groups of other owners if a stage requests that', async () => {
    expect(await run(['deploy'], 'full')).toMatchObject({ code: 0 });
    // In the group of the events are the subscription to the system topic and the grant on the topic of incidents.
    expect(elsewhere().toSorted()).toEqual([...OTHERS, 'rg-events'].toSorted());
    expect(await run(['deploy', '--package', PACKAGE], 'full')).toMatchObject({
      code: 0,
      said: expect.stringMatching(/template: unchanged/),
    });
    expect(await run(['remove'], 'full')).toMatchObject({ code: 0 });
    expect(ours()).toEqual([]);
  });
});
