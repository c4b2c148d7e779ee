import { z } from 'zod';
import type { Deployer, PackagedFunction, Say } from '../serverless/deployer.ts';
import { ensureAlarms, removeAlarms } from './alarms.ts';
import type { Api } from './api.ts';
import { absent, ensure, type Resource } from './ensure.ts';
import { addressOf, ensureFunction, functionAt, removeFunction } from './functions.ts';
import { grantsElsewhere, grantsOnOurs, INVOKER, invokers, mayPublishEvents, pubSubAgent, type Granted } from './grants.ts';
import { accounts, role } from './identities.ts';
import type { Install } from './install.ts';
import { logLines } from './logs.ts';
import { functionNames } from './names.ts';
import { grant, restrict, revoke } from './policies.ts';
import { subscriptions, topics } from './queues.ts';
import { schedule } from './schedule.ts';
import { sink } from './sink.ts';
import { metrics } from './watching.ts';

const writer = z.looseObject({ writerIdentity: z.string() });

const ensureAll = async (api: Api, resources: readonly Resource[], say: Say): Promise<void> => {
  for (const resource of resources) await ensure(api, resource, say);
};

const grantAll = async (api: Api, granted: readonly Granted[], say: Say): Promise<void> => {
  for (const one of granted) await grant(api, one.on, one, say);
};

/** In the order in which one needs the other; events flow last, when all that takes them stands. */
const deploy = async (api: Api, install: Install, packaged: readonly PackagedFunction[], say: Say): Promise<void> => {
  await ensureAll(api, [...accounts(install), role(install)], say);
  await grantAll(api, grantsElsewhere(install), say);
  await ensureAll(api, topics(install), say);
  const addresses = new Map<string, string>();
  for (const one of packaged) addresses.set(one.name, await ensureFunction(api, install, one, say));
  for (const { on, members } of invokers(install)) await restrict(api, on, INVOKER, members, say);
  const addressFor = (name: string): string => addresses.get(name) ?? install.names.address(name);
  await ensureAll(api, subscriptions(install, addressFor('on-event')), say);
  await grantAll(api, grantsOnOurs(install, await pubSubAgent(api, install)), say);
  const { writerIdentity } = writer.parse(await ensure(api, sink(install), say));
  await grantAll(api, [mayPublishEvents(install, writerIdentity)], say);
  await ensureAll(api, [...metrics(install), schedule(install, addressFor('sweep'))], say);
  await ensureAlarms(api, install, say);
};

/** The other way round: first nothing comes any more. */
const remove = async (api: Api, install: Install, say: Say): Promise<void> => {
  const goAway = async (resources: readonly Resource[]): Promise<void> => {
    for (const resource of resources) await absent(api, resource, say);
  };
  await removeAlarms(api, install, say);
  await goAway([schedule(install, ''), sink(install), ...metrics(install), ...subscriptions(install, '')]);
  for (const name of functionNames) await removeFunction(api, install, name, say);
  await goAway(topics(install));
  for (const one of grantsElsewhere(install)) await revoke(api, one.on, one, say);
  await goAway([role(install), ...accounts(install)]);
};

const info = async (api: Api, install: Install): Promise<readonly string[]> => {
  const { names, parameters } = install;
  const lines: string[] = [`project: ${parameters.project}`, `region: ${parameters.region}`, `runs as: ${names.runner}`];
  for (const name of functionNames) {
    const present = await functionAt(api, install, name);
    lines.push(`${name}: ${present ? `${present.state} at ${addressOf(install, name, present)}` : 'not deployed'}`);
  }
  return [...lines, `events: ${names.topic('events')}`, `dead letters: ${names.subscription('dead-letters')}`];
};

const invoke = async (api: Api, install: Install, name: string, payload: unknown): Promise<unknown> => {
  const present = await functionAt(api, install, name);
  return present ? api.invoke(addressOf(install, name, present), install.names.address(name), payload) : undefined;
};

export const gcpDeployer = (api: Api, install: Install): Deployer => ({
  deploy: (packaged, say) => deploy(api, install, packaged, say),
  remove: (say) => remove(api, install, say),
  info: () => info(api, install),
  invoke: (name, payload) => invoke(api, install, name, payload),
  logs: (name) => logLines(api, install, name),
});
