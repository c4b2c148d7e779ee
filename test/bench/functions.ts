import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Deployed } from './deployed.ts';
import type { FunctionScene } from './function-scene.ts';

/** The size of one packaged function and the cost of its start. All sizes and memory in bytes. */
export interface PackagedFunction {
  readonly name: string;
  readonly zip: number;
  readonly cloudPart: number;
  readonly kubernetesPart: number;
  /** Whether the Kubernetes part is loaded only when a fence needs it. */
  readonly lazily: boolean;
  /** The median of five fresh processes (ms). */
  readonly importMs: number;
  readonly rssAfterImport: number;
  /** Null for a function that does not fence. */
  readonly rssAfterFence: number | null;
  readonly peakRss: number | null;
  /** Of the first fence (ms). */
  readonly fenceCpuMs: number | null;
}

const imported = z.object({ importMs: z.number(), rssAfterImport: z.number(), loadedAtImport: z.array(z.string()) });
const invoked = imported.extend({
  answer: z.unknown(),
  answeredAfterMs: z.number(),
  rssAfterwards: z.number(),
  peakRss: z.number(),
  fenceCpuMs: z.number(),
  /** When the first request leaves (ms since the import began), and what is loaded then. */
  firstCall: z.object({
    ms: z.number(),
    cpuMs: z.number(),
    host: z.string(),
    loaded: z.array(z.string()),
    builtins: z.array(z.string()),
  }),
  /** The first answers, and what is loaded when each arrives. */
  answers: z.array(z.object({ asked: z.string(), loaded: z.array(z.string()) })),
  /** The command lines of the programs that the function started. */
  programs: z.array(z.string()),
  loadedAfterwards: z.array(z.string()),
});

/** Upper limits, in MB and ms. */
export interface FunctionAims {
  readonly cloudPart: number;
  readonly kubernetesPart: number;
  readonly importMs: number;
  readonly rssAfterFence: number;
}

/** A cloud whose functions are measured. */
export interface BenchedCloud {
  readonly title: string;
  /** Packages the service as `serverless package` does. The result is deleted after all measurements. */
  readonly packaged: () => Promise<{ readonly functions: readonly Deployed[]; readonly close: () => Promise<void> }>;
  /** How the platform calls a handler: see function-process.cjs. */
  readonly calls: 'lambda' | 'http' | 'azure';
  /** For each function that fences, an event about the machine that is off. */
  readonly fencing: Readonly<Record<string, (machine: string) => object>>;
  readonly openScene: () => Promise<FunctionScene>;
  /** A handler that asks about the machine with only the client of the SDK. */
  readonly clientAlone: string;
  readonly aims: FunctionAims;
}

const PROCESSES = 5;
const FENCES = 3;
const program = fileURLToPath(new URL('function-process.cjs', import.meta.url));

/**
 * The Kubernetes client, and what else only the access to a cluster needs. It is named after app/connect-cluster.ts.
 */
export const isKubernetesPart = (file: string): boolean => path.basename(file).startsWith('connect-cluster-');

/** How the process of a function starts. */
interface Start {
  /** A program that starts it, with its arguments. */
  readonly through?: readonly string[];
  /** Options of Node.js. */
  readonly node?: readonly string[];
}

const ask = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { through = [], node = [] }: Start = {},
): Promise<unknown> => {
  const [command = process.execPath, ...all] = [...through, process.execPath, ...node, program, ...args];
  const child = spawn(command, all, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const answered = once(child, 'message');
  const [message]: unknown[] = await Promise.race([
    answered,
    ended.then(([code]) => Promise.reject(new Error(`${args[0]} ended with ${code} and no answer`))),
  ]);
  await ended;
  return message;
};

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

const importsOf = async ({ file, environment }: Deployed) => {
  const all: z.infer<typeof imported>[] = [];
  for (let nth = 0; nth < PROCESSES; nth += 1) all.push(imported.parse(await ask([file], environment)));
  return {
    importMs: median(all.map(({ importMs }) => importMs)),
    rssAfterImport: median(all.map(({ rssAfterImport }) => rssAfterImport)),
    lazily: !all.some(({ loadedAtImport }) => loadedAtImport.some(isKubernetesPart)),
  };
};

type FirstFence = Pick<PackagedFunction, 'rssAfterFence' | 'peakRss' | 'fenceCpuMs'>;

/** Calls the function once, in a process of its own. */
export const invokeOnce = async (
  { file, environment, exported = 'handler' }: Deployed,
  event: object,
  calls: BenchedCloud['calls'],
  scene: Pick<FunctionScene, 'environment'>,
  start: Start = {},
): Promise<z.infer<typeof invoked>> => {
  const args = [file, JSON.stringify(event), calls, exported];
  return invoked.parse(await ask(args, { ...environment, ...scene.environment }, start));
};

/** @throws if nothing was fenced, or not with the Kubernetes part, because then the cost has no meaning */
export const fenceOnce = async (
  deployed: Deployed,
  eventFor: (machine: string) => object,
  { calls, openScene }: Pick<BenchedCloud, 'calls' | 'openScene'>,
  through: readonly string[] = [],
): Promise<z.infer<typeof invoked>> => {
  const scene = await openScene();
  try {
    const found = await invokeOnce(deployed, eventFor(scene.machine), calls, scene, { through });
    if (!scene.isFenced() || !found.loadedAfterwards.some(isKubernetesPart))
      throw new Error(`${deployed.file}: ${JSON.stringify(found.answer)}`);
    return found;
  } finally {
    await scene.close();
  }
};

/** Loads the handler with only the client of the SDK, and calls it once. */
export const askAlone = async (
  { file, environment }: Pick<Deployed, 'file' | 'environment'>,
  { openScene }: Pick<BenchedCloud, 'openScene'>,
  through: readonly string[],
): Promise<z.infer<typeof invoked>> => {
  const scene = await openScene();
  try {
    const asked = JSON.stringify({ machine: scene.machine });
    return invoked.parse(await ask([file, asked, 'lambda'], { ...environment, ...scene.environment }, { through }));
  } finally {
    await scene.close();
  }
};

/**
 * Returns the median of three runs, and their highest peak. The runs are concurrent: a fence waits most of its time,
 * and the runs share neither memory nor processor time.
 */
const firstFence = async (deployed: Deployed, cloud: BenchedCloud): Promise<FirstFence> => {
  const eventFor = cloud.fencing[deployed.name];
  if (!eventFor) return { rssAfterFence: null, peakRss: null, fenceCpuMs: null };
  const all = await Promise.all(Array.from({ length: FENCES }, () => fenceOnce(deployed, eventFor, cloud)));
  return {
    rssAfterFence: median(all.map(({ rssAfterwards }) => rssAfterwards)),
    peakRss: Math.max(...all.map(({ peakRss }) => peakRss)),
    fenceCpuMs: median(all.map(({ fenceCpuMs }) => fenceCpuMs)),
  };
};

const sizesIn = async (folder: string): Promise<Pick<PackagedFunction, 'cloudPart' | 'kubernetesPart'>> => {
  const files = await Promise.all(
    (await readdir(folder)).map(async (name) => ({ name, size: (await stat(path.join(folder, name))).size })),
  );
  const sum = (some: typeof files): number => some.reduce((total, { size }) => total + size, 0);
  const kubernetesPart = sum(files.filter(({ name }) => isKubernetesPart(name)));
  if (kubernetesPart === 0) throw new Error(`${folder} has no part for Kubernetes of its own`);
  return { kubernetesPart, cloudPart: sum(files) - kubernetesPart };
};

/** Measures each function of the cloud from its zip. */
export const measureFunctions = async (cloud: BenchedCloud): Promise<readonly PackagedFunction[]> => {
  const { functions, close } = await cloud.packaged();
  /** By file: if all functions are one app, they are imported together. */
  const imports = new Map<string, Awaited<ReturnType<typeof importsOf>>>();
  try {
    const all: PackagedFunction[] = [];
    for (const deployed of functions) {
      const { name, zip, folder, file } = deployed;
      const ofFile = imports.get(file) ?? (await importsOf(deployed));
      imports.set(file, ofFile);
      all.push({ name, zip, ...(await sizesIn(folder)), ...ofFile, ...(await firstFence(deployed, cloud)) });
    }
    return all;
  } finally {
    await close();
  }
};
