import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { appNames, appOf, functionNames, httpFunctions, type AppName } from '../../../infra/azure/install.ts';
import { bundleFunction } from '../../../infra/serverless/bundle.ts';
import { workerModules } from './worker-modules.ts';

/** Loads the app as the worker of the Functions host does, and returns what the app registered. */
const WORKER = `require('./index.js');
console.log(JSON.stringify(require('@azure/functions-core').registered));`;

/** Calls the sweep and three functions for people, with requests that each of them rejects in its own words. */
const CALLER = `require('./index.js');
const { handlers } = require('@azure/functions-core');
const logged = [];
const log = (text) => logged.push(text);
const context = { log, warn: log, error: log };
const requests = { replay: {}, fence: { release: '' }, diagnose: { target: 'pod/a/b/c' } };
const ask = async ([name, body]) => {
  const request = { method: 'POST', headers: [], text: async () => JSON.stringify(body) };
  return [name, (await handlers[name](request, context)).body];
};
const call = async () => {
  await handlers.sweep({}, context);
  const swept = [...logged];
  const answers = Object.fromEntries(await Promise.all(Object.entries(requests).map(ask)));
  console.log(JSON.stringify({ swept, answers }));
};
call();`;

const binding = z.looseObject({ type: z.string(), direction: z.string() });
const registrations = z.array(z.object({ name: z.string(), bindings: z.array(binding) }));

let folder: string;
const registered = new Map<AppName, z.infer<typeof registrations>>();

const registeredBy = async (app: AppName): Promise<z.infer<typeof registrations>> => {
  const bundle = path.join(folder, app);
  await bundleFunction(fileURLToPath(new URL('../../..', import.meta.url)), `functions/azure/${app}.ts`, bundle);
  await writeFile(path.join(bundle, 'worker.cjs'), WORKER);
  const { stdout } = await promisify(execFile)(process.execPath, ['worker.cjs'], { cwd: bundle, env: workerModules });
  return registrations.parse(JSON.parse(stdout));
};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-app-'));
  for (const app of appNames) registered.set(app, await registeredBy(app));
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

const called = z.object({ swept: z.array(z.string()), answers: z.record(z.string(), z.string()) });

it('calls the function that it registers under a name, and ends a sweep only after its work', async () => {
  const bundle = path.join(folder, 'app');
  await writeFile(path.join(bundle, 'caller.cjs'), CALLER);
  const settings = {
    AZURE_SUBSCRIPTION_ID: '11111111-1111-1111-1111-111111111111',
    CLOUDFENCE_SETTINGS: '{"clusters":[]}',
  };
  const env = { ...workerModules, ...settings };
  const { stdout } = await promisify(execFile)(process.execPath, ['caller.cjs'], { cwd: bundle, env });
  const { swept, answers } = called.parse(JSON.parse(stdout));
  expect(swept).toEqual([expect.stringContaining('the sweep looked at 0 machines')]);
  expect(answers).toEqual({
    replay: expect.stringContaining('not an event that Cloudfence supports'),
    fence: expect.stringContaining('send {\\"release\\": '),
    diagnose: expect.stringContaining('is not pod/<namespace>/<name>'),
  });
});

const all = () => [...registered.values()].flat();
const triggerOf = (name: string) =>
  all()
    .find((one) => one.name === name)
    ?.bindings.find(({ direction }) => direction === 'in');

it('registers every function that serverless knows, from the bundle of its app', () => {
  expect(
    all()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual([...functionNames].toSorted());
  for (const [app, functions] of registered)
    expect(functions.map(({ name }) => appOf(name))).toEqual(functions.map(() => app));
});

it('reads batches from the queue without a key in its settings, and sweeps on the schedule of a setting', () => {
  expect(triggerOf('on-event')).toMatchObject({
    type: 'serviceBusTrigger',
    connection: 'CLOUDFENCE_BUS',
    queueName: '%CLOUDFENCE_EVENTS_QUEUE%',
    cardinality: 'many',
  });
  expect(triggerOf('sweep')).toMatchObject({ type: 'timerTrigger', schedule: '%CLOUDFENCE_SWEEP%' });
});

it.each(httpFunctions)('%s can be called only with a key', (name) => {
  expect(triggerOf(name)).toMatchObject({
    type: 'httpTrigger',
    authLevel: 'function',
    methods: name === 'webhook' ? ['POST', 'OPTIONS'] : ['POST'],
  });
});
