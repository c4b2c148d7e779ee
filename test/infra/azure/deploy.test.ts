import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { appNames } from '../../../infra/azure/install.ts';
import { deployingAt, packaged } from './installed.ts';
import { openManagement, OTHERS, type Management } from './management.ts';
import { full } from './stage-files.ts';

/** The result of a deployment in a subscription that rejects what Azure rejects. */

let management: Management;
beforeEach(async () => {
  management = await openManagement();
});
afterEach(() => management.close());

const held = () => [...management.azure.held.values()];
const ofType = (type: string) => held().filter((one) => one.type === `Microsoft.${type}`);

/** Deploys, and returns the output and the writes. */
const deployed = async (written: object = {}, change = '', stage = 'prod') => {
  const deploying = deployingAt(management, written, stage);
  const before = management.writes().length;
  await deploying.deployer.deploy(packaged(change), deploying.say);
  return { ...deploying, writes: management.writes().slice(before) };
};

const previewed = async (written: object = {}) => {
  const { deployer, said, say } = deployingAt(management, written);
  await deployer.preview?.(say);
  return said;
};

const principals = () => {
  const present = new Set(ofType('ManagedIdentity/userAssignedIdentities').map(({ added }) => added['principalId']));
  return ofType('Authorization/roleAssignments').filter(({ properties }) => !present.has(properties['principalId']));
};

describe('a deployment', () => {
  it.each([
    ['the defaults', {}, 'prod'],
    ['every parameter', full, 'full'],
  ])('is accepted by Azure with %s, and writes nothing the second time', async (_, written, stage) => {
    await deployed(written, '', stage);
    const { said, writes } = await deployed(written, '', stage);
    expect({ said, writes }).toEqual({
      said: ['template: unchanged', expect.stringMatching(/unchanged/), expect.stringMatching(/unchanged/)],
      writes: [],
    });
  });

  it('names what was rejected, and continues there once that is corrected', async () => {
    management.azure.mishaps.push({
      method: 'PUT',
      path: /deployments\/cloudfence-prod$/,
      reply: {
        status: 400,
        body: {
          error: {
            code: 'InvalidTemplateDeployment',
            message: 'policy',
            details: [{ code: 'RequestDisallowedByPolicy' }],
          },
        },
      },
    });
    await expect(deployed()).rejects.toThrow(/RequestDisallowedByPolicy/);
    management.azure.mishaps.length = 0;
    await deployed();
    expect(management.azure.packages).toHaveLength(2);
  });

  it('publishes again until the role that stores the package is known everywhere', async () => {
    management.azure.roleSpreads = 3;
    const { said, waited } = await deployed();
    expect(said.filter((line) => /not accepted yet.*InaccessibleStorageException/.test(line))).toHaveLength(3);
    expect(said.at(-1)).toMatch(/door-\w+: published/);
    expect(waited.filter((ms) => ms === 20_000)).toHaveLength(3);
  });

  it('gives up on a package that is rejected for ten minutes, and says why', async () => {
    management.azure.roleSpreads = Number.MAX_SAFE_INTEGER;
    await expect(deployed()).rejects.toThrow(/InaccessibleStorageException/);
  });

  it('can be switched from an identity to keys for the delivery, and back', async () => {
    for (const keylessDelivery of [true, false, true, false, true]) {
      await deployed({ keylessDelivery });
      expect(principals()).toEqual([]);
      expect(ofType('ManagedIdentity/userAssignedIdentities')).toHaveLength(keylessDelivery ? 3 : 2);
    }
  });

  it('replaces the permissions of an identity that someone deleted and recreated', async () => {
    const { install } = await deployed();
    for (const name of appNames) management.azure.held.delete(install.names.apps[name].identityId.toLowerCase());
    expect(principals().length).toBeGreaterThan(0);
    await deployed();
    expect(principals()).toEqual([]);
  });

  it('publishes again if its packages are stored elsewhere', async () => {
    const { install } = await deployed();
    const site = management.azure.held.get(install.names.apps.app.siteId.toLowerCase());
    if (site) site.tags = { ...site.tags, 'cloudfence-package': 'the same code, in the container of another install' };
    await deployed();
    expect(management.azure.packages).toHaveLength(3);
  });
});

describe('the preview', () => {
  it('does not report a change that it only suspects because it resolves no reference', async () => {
    await deployed();
    expect(await previewed()).toEqual(['the deployment would change nothing']);
  });

  it('reports other changes, and of which resources', async () => {
    await deployed();
    expect(await previewed({ memory: 2048 })).toEqual([
      expect.stringMatching(
        /^Modify: .*sites\/cloudfence-prod-\w{6} \(properties\.functionAppConfig\.scaleAndConcurrency\.instanceMemoryMB\)$/,
      ),
      expect.stringMatching(/^Modify: .*sites\/cloudfence-prod-door-\w{6} \(/),
    ]);
  });
});

const site = z.object({
  siteConfig: z.object({ appSettings: z.array(z.object({ name: z.string(), value: z.string() })) }),
});

describe('the app that receives events', () => {
  it('may put events into the queue, and has no access to machines, clusters, or dead letters', async () => {
    const { install } = await deployed({}, '', 'prod');
    const { names } = install;
    const { door } = names.apps;
    const principal = management.azure.held.get(door.identityId.toLowerCase())?.added['principalId'];
    const on = ofType('Authorization/roleAssignments')
      .filter(({ properties }) => properties['principalId'] === principal)
      .map(({ id }) => id.split('/providers/Microsoft.Authorization/')[0] ?? '');
    expect(on.toSorted()).toEqual(
      [names.insightsId, names.queueId('events'), door.containerId, door.storageId].toSorted(),
    );
    const settings = site.parse(management.azure.held.get(door.siteId.toLowerCase())?.properties).siteConfig
      .appSettings;
    expect(settings.find(({ name }) => name === 'CLOUDFENCE_SETTINGS')?.value).toBe('{}');
    expect(JSON.stringify(settings)).not.toContain('rg-aks');
  });

  it('has a host name of its own', async () => {
    const { deployer } = await deployed();
    management.azure.answers.set('webhook', { taken: true });
    expect(await deployer.invoke('webhook', {})).toEqual({ taken: true });
    const lines = await deployer.info();
    expect(lines).toContainEqual(expect.stringMatching(/^webhook: https:\/\/localhost/));
    expect(lines).toContainEqual(expect.stringMatching(/^fence: https:\/\/127/));
  });
});

describe('a removal', () => {
  it('leaves nothing in the groups of other owners', async () => {
    const { deployer, say } = await deployed(full, '', 'full');
    await deployer.remove(say);
    expect(held().map(({ name }) => name)).toEqual(OTHERS);
  });
});
