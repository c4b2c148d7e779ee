import { stat } from 'node:fs/promises';
import path from 'node:path';
import { benchedClouds, loadBenched } from './clouds.ts';
import { openCpuShare } from './cpu-share.ts';
import type { Deployed } from './deployed.ts';
import { type BenchedCloud, fenceOnce, isKubernetesPart, median } from './functions.ts';

/**
 * What a packaged function does until its first call leaves. The time counts from the moment at which the platform begins
 * to load the function's code, and ends when the call is handed to its connection, which may still have to be opened.
 * The start of Node.js itself comes before, and belongs to the platform.
 */
export interface ColdStart {
  readonly host: string;
  readonly ms: number;
  readonly cpuMs: number;
  readonly files: number;
  readonly bytes: number;
  /** The modules of Node itself. */
  readonly builtins: readonly string[];
  /** Whether the access to Kubernetes is loaded by then. */
  readonly withKubernetes: boolean;
  /** The questions whose answers arrive before it is loaded. */
  readonly answeredBefore: readonly string[];
  /** The programs that the fence started, which take longer than anything else. */
  readonly programs: readonly string[];
}

/** Of one core. Lambda gives a function of 1,769 MB one core: https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html */
const SHARE_OF_256_MB = 256 / 1_769;
const STARTS = 5;

const ofTheFunction = (loaded: readonly string[], { folder }: Deployed): readonly string[] =>
  loaded.filter((file) => file.startsWith(`${folder}${path.sep}`));

/** Starts a function once, with an event about a machine that is off. */
export const coldStart = async (
  deployed: Deployed,
  cloud: Pick<BenchedCloud, 'calls' | 'openScene' | 'fencing'>,
  through: readonly string[] = [],
): Promise<ColdStart> => {
  const eventFor = cloud.fencing[deployed.name];
  if (!eventFor) throw new Error(`${deployed.name} does not fence`);
  const { firstCall, answers, programs } = await fenceOnce(deployed, eventFor, cloud, through);
  const files = ofTheFunction(firstCall.loaded, deployed);
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return {
    host: firstCall.host,
    ms: firstCall.ms,
    cpuMs: firstCall.cpuMs,
    files: files.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    builtins: firstCall.builtins,
    withKubernetes: files.some(isKubernetesPart),
    answeredBefore: answers.flatMap(({ asked, loaded }) => (loaded.some(isKubernetesPart) ? [] : [asked])),
    programs,
  };
};

const several = async (deployed: Deployed, cloud: BenchedCloud, through: readonly string[]) => {
  const all: ColdStart[] = [];
  for (let nth = 0; nth < STARTS; nth += 1) all.push(await coldStart(deployed, cloud, through));
  return { ms: median(all.map(({ ms }) => ms)), cpuMs: median(all.map(({ cpuMs }) => cpuMs)), all };
};

const benchCloud = async (cloud: BenchedCloud): Promise<void> => {
  const { functions, close } = await cloud.packaged();
  const share = await openCpuShare(SHARE_OF_256_MB);
  try {
    const deployed = functions.find(({ name }) => name in cloud.fencing);
    if (!deployed) throw new Error(`${cloud.title} has no function that fences`);
    const whole = await several(deployed, cloud, []);
    const shared = share && (await several(deployed, cloud, share.through));
    const [one] = whole.all;
    const lines = [
      `${deployed.name} on ${cloud.title}, until its first call leaves (the median of ${STARTS}):`,
      `  ${one?.files} files with ${((one?.bytes ?? 0) / 1e3).toFixed(0)} kB are loaded, ${one?.withKubernetes ? 'with' : 'without'} the access to Kubernetes`,
      `  with a whole core: ${whole.ms.toFixed(0)} ms, ${whole.cpuMs.toFixed(0)} of them CPU`,
      shared
        ? `  with ${SHARE_OF_256_MB.toFixed(3)} of a core: ${shared.ms.toFixed(0)} ms, of at most 350`
        : `  with ${SHARE_OF_256_MB.toFixed(3)} of a core, by the CPU alone: ${(whole.cpuMs / SHARE_OF_256_MB).toFixed(0)} ms, of at most 350`,
    ];
    console.log(lines.join('\n'));
  } finally {
    await share?.close();
    await close();
  }
};

export const benchCold = async (): Promise<void> => {
  for (const name of benchedClouds) await benchCloud(await loadBenched(name));
};
