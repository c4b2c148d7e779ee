import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { sweep } from '../entry-points/programs.ts';
import { diedAfterMark } from '../scenes/died-after-mark.ts';
import { PARKED, worldOf } from '../scenes/world.ts';

/** On its own control plane, because it sweeps the whole cluster. */
let testbed: OwnTestbed;
beforeAll(async () => {
  testbed = await openOwnTestbed();
});
afterAll(() => testbed?.close());

/** With our taint left on the Node, Kubernetes detached the mounted disk 364 s after the cut. */
const WATCHED_MS = 440_000;
const SWEEPS_EVERY_MS = 20_000;

const sweepFor = async (ms: number): Promise<void> => {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    const next = performance.now() + SWEEPS_EVERY_MS;
    await sweep(testbed.access);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
  }
};

describe('a machine that came back under a mark that a killed run left', () => {
  it('keeps its disk when its kubelet is cut off, for as long as it runs', async () => {
    const { scene, home, refuge, disk, former } = await diedAfterMark(testbed, 'cut-off');
    await home.start();
    await sweep(testbed.access);
    home.kubelet.die();
    await sweepFor(WATCHED_MS);
    expect(await sweep(testbed.access)).toMatchObject([
      { outcome: 'refused', reason: expect.stringMatching(/^unreachable-but-running: /) },
    ]);
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: PARKED, [refuge.name]: [] });
    expect(await home.state()).toBe('running');
    expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
    expect(scene.pods('db-0').map(({ metadata }) => metadata.uid)).toEqual([former]);
  });
});
