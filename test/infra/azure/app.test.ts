import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { functionNames, httpFunctions } from '../../../infra/azure/names.ts';
import { bundleFunction } from '../../../infra/serverless/bundle-function.ts';
import { workerModules } from './worker-modules.ts';

/** Loads the app as the worker of the Functions host does, and tells what the app registered. */
const WORKER = `require('./index.js');
console.log(JSON.stringify(require('@azure/functions-core').registered));`;

const binding = z.looseObject({ type: z.string(), direction: z.string() });
const registrations = z.array(z.object({ name: z.string(), bindings: z.array(binding) }));

let folder: string;
let registered: z.infer<typeof registrations>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-app-'));
  await bundleFunction(fileURLToPath(new URL('../../..', import.meta.url)), 'functions/azure/app.ts', path.join(folder, 'app'));
  await writeFile(path.join(folder, 'app/worker.cjs'), WORKER);
  const { stdout } = await promisify(execFile)(process.execPath, ['worker.cjs'], { cwd: path.join(folder, 'app'), env: workerModules });
  registered = registrations.parse(JSON.parse(stdout));
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

const triggerOf = (name: string) => registered.find((one) => one.name === name)?.bindings.find(({ direction }) => direction === 'in');

it('registers every function that serverless knows, out of its bundle', () => {
  expect(registered.map(({ name }) => name).toSorted()).toEqual([...functionNames].toSorted());
});

it('takes batches from the queue, without a key in its settings, and sweeps by a setting', () => {
  expect(triggerOf('on-event')).toMatchObject({ type: 'serviceBusTrigger', connection: 'CLOUDFENCE_BUS', queueName: '%CLOUDFENCE_EVENTS_QUEUE%', cardinality: 'many' });
  expect(triggerOf('sweep')).toMatchObject({ type: 'timerTrigger', schedule: '%CLOUDFENCE_SWEEP%' });
});

it.each(httpFunctions)('%s is called with a key only', (name) => {
  expect(triggerOf(name)).toMatchObject({ type: 'httpTrigger', authLevel: 'function', methods: name === 'webhook' ? ['POST', 'OPTIONS'] : ['POST'] });
});
