import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bundleFunction } from '../../infra/serverless/bundle.ts';
import { repositoryRoot } from '../../scripts/bundle.ts';
import { benchedClouds, loadBenched } from './clouds.ts';
import { DEFAULT_SHARE, openCpuShare } from './cpu-share.ts';
import type { Deployed } from './deployed.ts';
import { askAlone, type BenchedCloud, fenceOnce, isKubernetesPart, median } from './functions.ts';

/**
 * What a packaged function does until its first call is sent. The time counts from the moment at which the platform
 * begins to load the code of the function. It ends when the call is passed to its connection, which may still have to
 * be opened. The start of Node.js itself comes before that, and belongs to the platform.
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
  /** The programs that the fence started. They take longer than anything else. */
  readonly programs: readonly string[];
}

const STARTS = 5;

const ofTheFunction = (loaded: readonly string[], { folder }: Deployed): readonly string[] =>
  loaded.filter((file) => file.startsWith(`${folder}${path.sep}`));

const sizeOf = async (files: readonly string[]): Promise<Pick<ColdStart, 'files' | 'bytes'>> => {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return { files: files.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
};

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
  return {
    host: firstCall.host,
    ms: firstCall.ms,
    cpuMs: firstCall.cpuMs,
    ...(await sizeOf(files)),
    builtins: firstCall.builtins,
    withKubernetes: files.some(isKubernetesPart),
    answeredBefore: answers.flatMap(({ asked, loaded }) => (loaded.some(isKubernetesPart) ? [] : [asked])),
    programs,
  };
};

type Cost = Pick<ColdStart, 'ms' | 'cpuMs' | 'files' | 'bytes'>;

/** A start of only the client of the SDK. No function on this cloud can be faster. */
const floorStart = async (alone: Deployed, cloud: BenchedCloud, through: readonly string[]): Promise<Cost> => {
  const { firstCall } = await askAlone(alone, cloud, through);
  return { ms: firstCall.ms, cpuMs: firstCall.cpuMs, ...(await sizeOf(ofTheFunction(firstCall.loaded, alone))) };
};

const medianOf = (all: readonly Cost[]): Cost => ({
  ms: median(all.map(({ ms }) => ms)),
  cpuMs: median(all.map(({ cpuMs }) => cpuMs)),
  files: all[0]?.files ?? 0,
  bytes: all[0]?.bytes ?? 0,
});

/** The two take turns, so that anything else that the computer does slows both. */
const inTurn = async (deployed: Deployed, alone: Deployed, cloud: BenchedCloud, through: readonly string[]) => {
  const ours: ColdStart[] = [];
  const floors: Cost[] = [];
  for (let nth = 0; nth < STARTS; nth += 1) {
    ours.push(await coldStart(deployed, cloud, through));
    floors.push(await floorStart(alone, cloud, through));
  }
  return { ours: medianOf(ours), floor: medianOf(floors), withKubernetes: ours.some((one) => one.withKubernetes) };
};

type InTurn = Awaited<ReturnType<typeof inTurn>>;

const ratio = (ours: number, floor: number): string => `×${(ours / floor).toFixed(2)}`;

const wholeInWords = ({ ours, floor, withKubernetes }: InTurn): readonly string[] => [
  `  ${ours.files} files with ${(ours.bytes / 1e3).toFixed(0)} kB are loaded, ` +
    `${withKubernetes ? 'with' : 'without'} the access to Kubernetes; ` +
    `by the client alone ${floor.files} with ${(floor.bytes / 1e3).toFixed(0)} kB`,
  `  with a whole core: ${ours.ms.toFixed(0)} ms; the client alone ${floor.ms.toFixed(0)} ms: ${ratio(ours.ms, floor.ms)}`,
  `  of that, processor: ${ours.cpuMs.toFixed(0)} ms; the client alone ${floor.cpuMs.toFixed(0)} ms: ` +
    ratio(ours.cpuMs, floor.cpuMs),
];

/** Without a control group, the share is calculated from the processor time. */
const shareInWords = (whole: InTurn, shared: InTurn | null): string => {
  const [ours, floor] = [whole.ours, whole.floor].map(({ cpuMs }) => cpuMs / DEFAULT_SHARE);
  const times = shared ? [shared.ours.ms, shared.floor.ms] : [ours, floor];
  const [one = 0, least = 0] = times;
  const how = shared ? '' : ', by the processor alone';
  const alone = `the client alone ${least.toFixed(0)} ms: ${ratio(one, least)}`;
  return `  with ${DEFAULT_SHARE.toFixed(3)} of a core${how}: ${one.toFixed(0)} ms, of at most 350; ${alone}`;
};

const openAlone = async (cloud: BenchedCloud, { environment }: Deployed): Promise<Deployed> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-alone-'));
  await bundleFunction(repositoryRoot, cloud.clientAlone, folder);
  return { name: 'alone', zip: 0, folder, file: path.join(folder, 'index.js'), environment };
};

const benchCloud = async (cloud: BenchedCloud): Promise<void> => {
  const { functions, close } = await cloud.packaged();
  const share = await openCpuShare(DEFAULT_SHARE);
  try {
    const deployed = functions.find(({ name }) => name in cloud.fencing);
    if (!deployed) throw new Error(`${cloud.title} has no function that fences`);
    const alone = await openAlone(cloud, deployed);
    const whole = await inTurn(deployed, alone, cloud, []);
    const shared = share && (await inTurn(deployed, alone, cloud, share.through));
    const turns = `the median of ${STARTS}, in turn with the SDK's client alone`;
    const title = `${deployed.name} on ${cloud.title}, until its first call leaves (${turns}):`;
    console.log([title, ...wholeInWords(whole), shareInWords(whole, shared)].join('\n'));
    await rm(alone.folder, { recursive: true });
  } finally {
    await share?.close();
    await close();
  }
};

export const benchCold = async (): Promise<void> => {
  for (const name of benchedClouds) await benchCloud(await loadBenched(name));
};
