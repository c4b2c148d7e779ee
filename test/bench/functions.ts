import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { openService } from '../infra/packaged-service.ts';
import { openFunctionScene } from './function-scene.ts';

/** What one packaged function weighs, and what it costs to start. All sizes and memory in bytes. */
export interface PackagedFunction {
  readonly name: string;
  readonly zip: number;
  readonly cloudPart: number;
  readonly kubernetesPart: number;
  /** Whether the Kubernetes part is left alone until a fence needs it. */
  readonly lazily: boolean;
  /** The median of five fresh processes (ms). */
  readonly importMs: number;
  readonly rssAfterImport: number;
  /** Null for a function that fences nothing. */
  readonly rssAfterFence: number | null;
  readonly peakRss: number | null;
}

const imported = z.object({ importMs: z.number(), rssAfterImport: z.number(), loadedAtImport: z.array(z.string()) });
const invoked = imported.extend({ answer: z.unknown(), rssAfterwards: z.number(), peakRss: z.number(), loadedAfterwards: z.array(z.string()) });

/** An event for each function that fences, about the machine that is off. */
const fencing: Readonly<Record<string, (machine: string) => object>> = {
  'on-event': (machine) => ({ source: 'aws.ec2', 'detail-type': 'EC2 Instance State-change Notification', detail: { 'instance-id': machine, state: 'stopped' } }),
  sweep: () => ({}),
  replay: (instanceId) => ({ instanceId }),
  fence: (instanceId) => ({ instanceId }),
};

const PROCESSES = 5;
const program = fileURLToPath(new URL('function-process.cjs', import.meta.url));

/** The client of Kubernetes, and what else only the way to a cluster needs; named after wiring/connect-cluster.ts. */
const isKubernetesPart = (file: string): boolean => path.basename(file).startsWith('connect-cluster-');

const ask = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<unknown> => {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const answered = once(child, 'message');
  const [message]: unknown[] = await Promise.race([answered, ended.then(([code]) => Promise.reject(new Error(`${args[0]} ended with ${code} and no answer`)))]);
  await ended;
  return message;
};

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

const importsOf = async (file: string) => {
  const all: z.infer<typeof imported>[] = [];
  for (let nth = 0; nth < PROCESSES; nth += 1) all.push(imported.parse(await ask([file], {})));
  return {
    importMs: median(all.map(({ importMs }) => importMs)),
    rssAfterImport: median(all.map(({ rssAfterImport }) => rssAfterImport)),
    lazily: !all.some(({ loadedAtImport }) => loadedAtImport.some(isKubernetesPart)),
  };
};

/** @throws when nothing was fenced, or not by the Kubernetes part: what that cost says nothing. */
const fenceWith = async (file: string, eventFor: (machine: string) => object): Promise<{ readonly rssAfterFence: number; readonly peakRss: number }> => {
  const scene = await openFunctionScene();
  try {
    const { answer, rssAfterwards, peakRss, loadedAfterwards } = invoked.parse(await ask([file, JSON.stringify(eventFor(scene.machine))], scene.environment));
    const said = JSON.stringify(answer);
    if (!said.includes('"outcome":"fenced"') || !loadedAfterwards.some(isKubernetesPart)) throw new Error(`${file}: ${said}`);
    return { rssAfterFence: rssAfterwards, peakRss };
  } finally {
    await scene.close();
  }
};

const sizesIn = async (folder: string): Promise<Pick<PackagedFunction, 'cloudPart' | 'kubernetesPart'>> => {
  const files = await Promise.all((await readdir(folder)).map(async (name) => ({ name, size: (await stat(path.join(folder, name))).size })));
  const sum = (some: typeof files): number => some.reduce((total, { size }) => total + size, 0);
  const kubernetesPart = sum(files.filter(({ name }) => isKubernetesPart(name)));
  if (kubernetesPart === 0) throw new Error(`${folder} has no part for Kubernetes of its own`);
  return { kubernetesPart, cloudPart: sum(files) - kubernetesPart };
};

/** Packages the service as `serverless package` does, and measures each of its functions. */
export const measureFunctions = async (): Promise<readonly PackagedFunction[]> => {
  const service = await openService({});
  try {
    const { code, said, folder: zips } = await service.package('dev');
    if (code !== 0) throw new Error(said);
    const all: PackagedFunction[] = [];
    for (const name of ['on-event', 'sweep', 'replay', 'fence', 'doctor']) {
      const folder = path.join(service.folder, 'dist/functions', name);
      const file = path.join(folder, 'index.js');
      const eventFor = fencing[name];
      const fenced = eventFor ? await fenceWith(file, eventFor) : { rssAfterFence: null, peakRss: null };
      all.push({ name, zip: (await stat(path.join(zips, `${name}.zip`))).size, ...(await sizesIn(folder)), ...(await importsOf(file)), ...fenced });
    }
    return all;
  } finally {
    await service.close();
  }
};
