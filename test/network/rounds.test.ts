import { beforeAll, describe, expect, it } from 'vitest';
import { countedClouds } from './clouds.ts';
import { tracedFence } from './lockstep.ts';
import { fullNode, type Load } from './scene.ts';
import { countsOf, type Counts } from './trace.ts';

/**
 * The most that a fence may take, in round trips, calls, and bytes. Lower a number when the code needs less. The aims
 * are 8 round trips cold and 5 warm, 40 calls to the API server and one more for each pod, 4 calls to the cloud, and 2
 * calls for each second of waiting. `npm run bench -- --rounds` lists the calls of each round.
 */

const NOW = Date.UTC(2026, 0, 1);
const ONE: Load = { pods: 1, volumes: 1 };
const FULL: Load = { pods: 110, volumes: 25 };

type Row = readonly [cloud: string, state: 'cold' | 'warm', load: Load, most: Partial<Counts>];

const most = (
  toFirstDelete: number,
  toLastDelete: number,
  cluster: number,
  cloud: number,
  kilobytes: number,
  perSecondOfWaiting?: number,
): Partial<Counts> => ({
  toFirstDelete,
  toLastDelete,
  cluster,
  cloud,
  kilobytes,
  ...(perSecondOfWaiting !== undefined && { perSecondOfWaiting }),
});

// oxfmt-ignore
const rows: readonly Row[] = [
  //                       to the first, last delete; calls to the cluster, cloud; kB; calls for each second of waiting
  ['aws',   'cold', ONE,  most(6,  6,  37, 4,  97, 1.7)],
  ['aws',   'warm', ONE,  most(6,  6,  36, 4,  64, 1.7)],
  ['aws',   'cold', FULL, most(9, 13, 270, 4, 820, 2)],
  ['azure', 'cold', ONE,  most(7,  7,  39, 5,  99, 1.2)],
  ['azure', 'warm', ONE,  most(7,  7,  38, 5,  67, 1.2)],
  ['azure', 'cold', FULL, most(12, 16, 760, 140, 2_050, 1.7)],
  ['gcp',   'cold', ONE,  most(7,  7,  37, 5,  94, 1.7)],
  ['gcp',   'warm', ONE,  most(7,  7,  36, 5,  62, 1.7)],
];

const exceeded = (counts: Counts, limits: Partial<Counts>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(limits).flatMap(([measure, limit]) => {
      const counted = Object.entries(counts).find(([name]) => name === measure)?.[1] ?? Infinity;
      return counted > limit ? [[measure, `${counted}, of at most ${limit}`]] : [];
    }),
  );

describe('a fence on a network with a distance', () => {
  /**
   * The first fence of a process also loads modules. The wait for them would count as round trips, and as more of them
   * on a slower computer.
   */
  beforeAll(async () => {
    for (const cloud of countedClouds) await tracedFence(await fullNode(cloud, ONE, NOW), { warm: false });
  }, 180_000);

  it.each(rows.filter(([cloud]) => countedClouds.includes(cloud)))(
    'needs no more round trips, calls, and bytes than its limits on %s, %s, with %j',
    async (cloud, state, load, limits) => {
      const scene = await fullNode(cloud, load, NOW);
      const counts = countsOf(await tracedFence(scene, { warm: state === 'warm' }));
      expect(exceeded(counts, limits)).toEqual({});
      expect(scene.left()).toEqual({ pods: 0, volumes: 0 });
    },
  );

  it.each(countedClouds)('connects to the API server while %s answers the first question', async (cloud) => {
    const { requests, wire } = await tracedFence(await fullNode(cloud, ONE, NOW), { warm: false });
    const [first] = requests;
    expect(first).toMatchObject({ api: 'cloud' });
    // The answer passes when the round of its question ends.
    const ahead = wire.toCluster.filter((round) => round <= (first?.round ?? 0));
    expect(ahead).toHaveLength(8);
  });

  it('opens no more connections while connections are open', async () => {
    const { wire } = await tracedFence(await fullNode('aws', ONE, NOW), { warm: true });
    expect(wire.toCluster).toEqual([]);
  });
});
