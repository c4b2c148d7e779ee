import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OwnBench } from '../../testbed/bench.ts';
import { openOwnBench } from '../../testbed/bench.ts';
import { sweep } from '../doors/doors.ts';
import { diedAfterMark } from '../scenes/died-after-mark.ts';
import { PARKED, worldOf } from '../scenes/world.ts';

/** On a control plane of its own, for it sweeps all of it. */
let bench: OwnBench;
beforeAll(async () => {
  bench = await openOwnBench();
});
afterAll(() => bench?.close());

/** With our taint left on the Node, Kubernetes detached the mounted disk 364 s after the cut. */
const WATCHED_MS = 440_000;
const SWEEPS_EVERY_MS = 20_000;

const sweepFor = async (ms: number): Promise<void> => {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    const next = performance.now() + SWEEPS_EVERY_MS;
    await sweep(bench.access);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
  }
};

describe('a machine that came back below a mark that a dead run left', () => {
  it('keeps its disk when its kubelet is cut off, for as long as it runs', async () => {
    const { scene, home, refuge, disk, former } = await diedAfterMark(bench, 'cut-off');
    await home.start();
    await sweep(bench.access);
    home.kubelet.die();
    await sweepFor(WATCHED_MS);
    expect(await sweep(bench.access)).toMatchObject([
      { outcome: 'refused', reason: expect.stringMatching(/^unreachable-but-running: /) },
    ]);
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: PARKED, [refuge.name]: [] });
    expect(await home.state()).toBe('running');
    expect(await bench.ec2.holderOf(disk)).toBe(home.instance);
    expect(scene.pods('db-0').map(({ metadata }) => metadata.uid)).toEqual([former]);
  });
});
