import { setTimeout as delay } from 'node:timers/promises';
import { startCli } from '../cli/run-cli.ts';
import { runScriptWithoutProof } from '../network/floor.ts';
import { openLiveNetwork, type LiveNetwork, type Network, type Seen } from '../network/live.ts';
import { tracedFence } from '../network/lockstep.ts';
import { fullNode, type Load } from '../network/scene.ts';
import { countsOf } from '../network/trace.ts';
import { grouped } from './table.ts';

/**
 * A fence by the CLI, and a script without proof, over networks with a distance: the same sandbox in real time, and the
 * same delays. The round trips are those of test/network/rounds.test.ts, which no clock measures.
 */

const networks: Readonly<Record<string, Network>> = {
  loopback: { cluster: { roundTrip: 0, service: 0 }, cloud: { roundTrip: 0, service: 0 } },
  near: { cluster: { roundTrip: 2, service: 8 }, cloud: { roundTrip: 4, service: 150 } },
  far: { cluster: { roundTrip: 30, service: 8 }, cloud: { roundTrip: 20, service: 150 } },
  slow: { cluster: { roundTrip: 50, service: 20 }, cloud: { roundTrip: 50, service: 400 } },
};

const LOADS: readonly Load[] = [
  { pods: 1, volumes: 1 },
  { pods: 110, volumes: 1 },
  { pods: 110, volumes: 25 },
];
const RUNS = 3;
const PATIENCE_MS = 120_000;
const CLOUD = 'aws';

/**
 * A script that is written for speed. A simple one, such as a loop with `kubectl delete`, deletes one pod after the
 * other.
 */
const EIGHT_AT_ONCE = 8;

/** Seconds since the start, and the traffic. */
interface Measured extends Pick<Seen, 'cluster' | 'cloud' | 'bytes'> {
  readonly off: number;
  readonly firstDeleted: number;
  readonly lastDeleted: number;
  readonly elsewhere: number;
}

type Remedy = (network: LiveNetwork) => Promise<unknown>;

const fenceByCli: Remedy = async (network) => {
  const { code, stdout, stderr } = await startCli(['fence', network.scene.machine, '--json'], network);
  if (code !== 0) throw new Error(`the CLI ended with ${code}: ${stdout}${stderr}`);
};

const untilElsewhere = async (network: LiveNetwork): Promise<void> => {
  const until = performance.now() + PATIENCE_MS;
  while (network.seen().elsewhere === null) {
    if (performance.now() > until) throw new Error(`not attached elsewhere: ${JSON.stringify(network.seen())}`);
    await delay(20);
  }
};

const measureOnce = async (load: Load, distances: Network, remedy: Remedy): Promise<Measured> => {
  const network = await openLiveNetwork(CLOUD, load, distances);
  try {
    const began = performance.now();
    await Promise.all([remedy(network), untilElsewhere(network)]);
    const { off, firstDeleted, lastDeleted, elsewhere, ...traffic } = network.seen();
    const after = (moment: number | null): number => (moment === null ? NaN : (moment - began) / 1_000);
    return {
      ...traffic,
      off: after(off),
      firstDeleted: after(firstDeleted),
      lastDeleted: after(lastDeleted),
      elsewhere: after(elsewhere),
    };
  } finally {
    await network.close();
  }
};

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;

const measure = async (load: Load, distances: Network, remedy: Remedy): Promise<Measured> => {
  const all: Measured[] = [];
  for (let run = 0; run < RUNS; run += 1) all.push(await measureOnce(load, distances, remedy));
  const of = (value: (one: Measured) => number): number => median(all.map(value));
  return {
    off: of((one) => one.off),
    firstDeleted: of((one) => one.firstDeleted),
    lastDeleted: of((one) => one.lastDeleted),
    elsewhere: of((one) => one.elsewhere),
    cluster: of((one) => one.cluster),
    cloud: of((one) => one.cloud),
    bytes: of((one) => one.bytes),
  };
};

const cells = (one: Measured): string =>
  [one.firstDeleted, one.lastDeleted, one.elsewhere].map((seconds) => seconds.toFixed(2).padStart(9)).join('');

const traffic = ({ cluster, cloud, bytes }: Measured): string =>
  `${grouped(cluster).padStart(8)}${grouped(cloud).padStart(8)}${grouped(bytes / 1e3).padStart(9)}`;

const ratios = (fence: Measured, floor: Measured): string =>
  (['firstDeleted', 'lastDeleted', 'elsewhere'] as const)
    .map((moment) => `×${(fence[moment] / floor[moment]).toFixed(1)}`.padStart(9))
    .join('');

/**
 * The part that belongs to Cloudfence itself: before the answer of EC2 come the start of the CLI and the call to EC2,
 * which the script does not need.
 */
const sinceAnswer = (fence: Measured, floor: Measured): string =>
  (['firstDeleted', 'lastDeleted'] as const)
    .map((moment) => {
      const seconds = fence[moment] - fence.off;
      return `${seconds.toFixed(2)} s (×${(seconds / floor[moment]).toFixed(1)})`;
    })
    .join(' and ');

const rowsOf = async (load: Load, distances: Network): Promise<readonly string[]> => {
  const floor = await measure(load, distances, (network) => runScriptWithoutProof(network, EIGHT_AT_ONCE));
  const plain = await measure(load, distances, (network) => runScriptWithoutProof(network, 1));
  const fence = await measure(load, distances, fenceByCli);
  const counts = countsOf(await tracedFence(await fullNode(CLOUD, load, Date.UTC(2026, 0, 1)), { warm: false }));
  return [
    `${load.pods} pods, ${load.volumes} volumes: ${counts.toFirstDelete} round trips from EC2's answer to the first deleted pod, ${counts.toLastDelete} to the last`,
    `  without proof${cells(floor)}${traffic(floor)}`,
    `  one by one   ${cells(plain)}${traffic(plain)}`,
    `  fence (CLI)  ${cells(fence)}${traffic(fence)}   EC2's answer after ${fence.off.toFixed(2)} s`,
    `  ratio        ${ratios(fence, floor)}`,
    `  to one by one${ratios(fence, plain)}`,
    `  from EC2's answer to the first and the last deleted pod: ${sinceAnswer(fence, floor)}`,
  ];
};

export const benchNetwork = async (name: string): Promise<void> => {
  const distances = networks[name];
  if (!distances) throw new Error(`no network is named ${name}: use one of ${Object.keys(networks).join(', ')}`);
  const { cluster, cloud } = distances;
  console.log(
    `${name}: API server ${cluster.roundTrip} + ${cluster.service} ms, EC2 ${cloud.roundTrip} + ${cloud.service} ms (round trip + service)`,
  );
  console.log(
    'Seconds to       first,    last pod, attached     API     EC2       kB (median of 3; the CLI with its start)',
  );
  for (const load of LOADS) console.log((await rowsOf(load, distances)).join('\n'));
};
