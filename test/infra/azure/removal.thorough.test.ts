import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardRemoval, FENCES_QUESTION } from '../../../infra/serverless/removal-guard.ts';
import type { Reply } from './answers.ts';
import { type Deploying, deployingAt, packaged } from './installed.ts';
import { type Management, openManagement, OTHERS } from './management.ts';

/** What a removal asks before it removes anything, and which answers it accepts. */

let management: Management;
let deploying: Deploying;

const fenced = { fences: [{ cluster: 'prod', node: 'node-7' }] };

beforeEach(async () => {
  management = await openManagement();
  deploying = deployingAt(management);
  await deploying.deployer.deploy(packaged(), deploying.say);
  management.azure.answers.set('doctor', fenced);
});
afterEach(() => management.close());

class Stopped extends Error {}

const command = { classes: { Error: Stopped } };
const notices: string[] = [];
const writers = { log: { notice: (text: string) => void notices.push(text), warning: () => undefined } };

/** Calls the guard first, as the command does. */
const remove = async (options: { readonly 'force-remove'?: boolean } = {}): Promise<string> => {
  const { deployer, say } = deploying;
  const ask = () => deployer.invoke('doctor', FENCES_QUESTION);
  const before = management.writes().length;
  try {
    await guardRemoval({ name: 'doctor', ask }, command, options, writers);
    await deployer.remove(say);
    return 'removed';
  } catch (error) {
    expect(management.writes().slice(before)).toEqual([]);
    return error instanceof Error ? error.message : String(error);
  }
};

const strike = (path: RegExp, reply: Reply): void => void management.azure.mishaps.push({ path, reply });
const arm = (status: number, code: string): Reply => ({
  status,
  body: { error: { code, message: 'said by the test' } },
});
const site = () => new RegExp(`/sites/${deploying.install.names.apps.app.site}$`);
const held = () => [...management.azure.held.values()];

describe('a removal', () => {
  it('asks the app for its fences even if the deployment is forgotten', async () => {
    management.azure.deployments.clear();
    expect(await remove()).toMatch(/Nodes are still fenced[\s\S]*node-7 in prod/);
  });

  it('continues if the app reports no fence, or if ARM says that there is no app', async () => {
    management.azure.answers.set('doctor', { fences: [] });
    expect(await remove()).toBe('removed');
    expect(held().map(({ name }) => name)).toEqual(OTHERS);
    expect(await remove()).toBe('removed');
    expect(notices.at(-1)).toMatch(/The function doctor does not exist/);
  });

  it.each([
    ['the app has no package, and so no function', /listkeys$/, arm(404, 'NotFound')],
    ['something other than ARM says that there is no app', site, { status: 404, body: '<html>not found</html>' }],
    ['the subscription is not found', site, arm(404, 'SubscriptionNotFound')],
    ['this version of the interface is not known', site, arm(404, 'InvalidResourceType')],
    ['the app may not be read', site, arm(403, 'AuthorizationFailed')],
    ['ARM is out of service', site, arm(400, 'ServiceUnavailable')],
    ['the answer describes no app', site, { status: 200, body: {} }],
    ['the app has no host', site, { status: 200, body: { properties: { state: 'Running' } } }],
    ['the key may not be read', /listkeys$/, arm(403, 'AuthorizationFailed')],
    ['there is no key', /listkeys$/, { status: 200, body: {} }],
    ['the app is stopped', /^\/api\/doctor$/, { status: 403, body: 'Site Disabled' }],
    ['the function is not found', /^\/api\/doctor$/, { status: 404, body: '' }],
    ['the function fails', /^\/api\/doctor$/, { status: 500, body: { error: 'no answer from the API server' } }],
    ['the answer is empty', /^\/api\/doctor$/, { status: 200, body: '<html>welcome</html>' }],
  ])('is refused, and the error says how to force it, if %s', async (_, path, reply) => {
    strike(path instanceof RegExp ? path : path(), reply);
    expect(await remove()).toMatch(/Cloudfence removed nothing: the function doctor did not say[\s\S]*--force-remove/);
    expect(await remove({ 'force-remove': true })).not.toMatch(/did not say/);
  });

  it.each([
    ['no tag', {}],
    ['another stage’s tag', { cloudfence: 'cloudfence-other' }],
  ])('removes nothing if the group has %s', async (_, tags) => {
    management.azure.answers.set('doctor', { fences: [] });
    const group = held().find(({ id }) => id === deploying.install.names.groupId);
    if (group) group.tags = tags;
    expect(await remove()).toMatch(/does not have the tag cloudfence: cloudfence-prod/);
  });

  it('removes everything else if the group is already gone', async () => {
    for (const { id } of held())
      if (id.startsWith(deploying.install.names.groupId)) management.azure.held.delete(id.toLowerCase());
    expect(await remove()).toBe('removed');
    expect(held().map(({ name }) => name)).toEqual(OTHERS);
  });
});

describe('a deployment', () => {
  it('does not fill a group of that name that belongs to someone else', async () => {
    const { id } = held().find((one) => one.id === deploying.install.names.groupId) ?? { id: '' };
    for (const one of held()) if (one.id.startsWith(id)) management.azure.held.delete(one.id.toLowerCase());
    management.azure.held.set(id.toLowerCase(), {
      id,
      type: 'Microsoft.Resources/resourceGroups',
      name: 'cloudfence-prod',
      wanted: null,
      tags: { owner: 'somebody' },
      added: {},
      properties: {},
    });
    const before = management.writes().length;
    await expect(deploying.deployer.deploy(packaged(), deploying.say)).rejects.toThrow(/does not have the tag/);
    expect(management.writes().slice(before)).toEqual([]);
  });
});
