import { describe, expect, it } from 'vitest';
import type { Clock } from '../../fencing/loop/ports.ts';
import { run } from '../../fencing/loop/run.ts';
import type { VolumeFacts } from '../../fencing/model/cluster-facts.ts';
import { begun, cloudThat, clusterThat, portsThat } from './ports.ts';
import { attachment, cluster, machine, marked, NOW, volume } from './view-builder.ts';

/** What a wait costs, counted in calls, while Kubernetes detaches the volumes of one Node. */

/** The calls of a look, without those for volumes. */
const LOOK_ITSELF = 7;
const VOLUMES = 25;

/** A clock that moves only while something sleeps. */
const sleepingClock = (): Clock => {
  let mono = 0;
  return {
    now: () => ({ wall: NOW + mono, mono }),
    sleep: async (ms) => void (mono += ms),
    timeout: () => new AbortController().signal,
  };
};

const going = (name: string): VolumeFacts =>
  volume({
    key: `a-driver^${name}`,
    handle: name,
    persistentVolume: name,
    attachmentName: name,
    attachment: attachment({ name, uid: name, deletingSince: NOW }),
  });

const node = marked({ volumes: [], pods: [] });
const unchanged = { uid: node.uid, recordText: node.recordText, taints: node.taints, lease: null };

/**
 * The calls of one run, each with its time. A look makes one call for an attachment that exists, and two for any other.
 */
const countingPorts = (goneAt: ReadonlyMap<string, number>) => {
  const clock = sleepingClock();
  const calls: number[] = [];
  const count = (how: number): void => void calls.push(...Array.from({ length: how }, () => clock.now().mono));
  const stands = (name: string): boolean => clock.now().mono < (goneAt.get(name) ?? 0);
  const blue = clusterThat({
    look: async () => {
      const volumes = [...goneAt.keys()].map((name) =>
        stands(name) ? going(name) : { ...going(name), attachment: null },
      );
      count(LOOK_ITSELF + volumes.reduce((all, one) => all + (one.attachment ? 1 : 2), 0));
      return cluster({ node, pods: [], volumes });
    },
    attachment: async (name) => {
      count(1);
      return stands(name) ? going(name).attachment : null;
    },
    recheck: async () => unchanged,
    apply: async () => 'done',
    conclude: async () => undefined,
    recordEvent: async () => undefined,
  });
  const cloud = cloudThat({
    look: async (_, { disks }) => {
      // A look with disks is part of a look at everything.
      if (!disks) count(1);
      return [machine({ disks: [] })];
    },
  });
  return { ports: portsThat({ clusters: [blue], cloud, clock }), calls, clock };
};

/** Waits until the volumes are gone, one every `every` ms. Counts the calls between the first and the last look. */
const waited = async (every: number, order: (nth: number) => number) => {
  const goneAt = new Map(
    Array.from({ length: VOLUMES }, (_, nth) => [`volume-${nth}`, 1_000 + every * order(nth)] as const),
  );
  const lastGone = Math.max(...goneAt.values());
  const { ports, calls, clock } = countingPorts(goneAt);
  const { outcome } = await run(begun({ location: { cluster: 'blue', node: 'node-a' }, deadline: 600_000 }), ports);
  const between = calls.filter((at) => at > 0 && at < clock.now().mono).length;
  return { outcome, calls: between, seconds: clock.now().mono / 1_000, late: clock.now().mono - lastGone };
};

describe('a wait for 25 attachments', () => {
  const orders: readonly (readonly [string, (nth: number) => number])[] = [
    ['in their order', (nth) => nth],
    ['from the last to the first', (nth) => VOLUMES - 1 - nth],
    ['in any order', (nth) => (nth * 11) % VOLUMES],
  ];
  const cases = orders.flatMap(([name, order]) =>
    [500, 1_000, 2_000, 5_000].map((every) => [every, name, order] as const),
  );

  it.each(cases)('costs at most a look and two calls a second if one goes every %i ms, %s', async (every, _, order) => {
    const { outcome, calls, seconds, late } = await waited(every, order);
    expect(outcome).toBe('fenced');
    expect(calls).toBeLessThanOrEqual(LOOK_ITSELF + 2 * VOLUMES + 2 * seconds);
    expect(late).toBeLessThanOrEqual(2_000);
  });

  it('ends soon after all of them go at the same time', async () => {
    expect(await waited(0, () => 0)).toMatchObject({ outcome: 'fenced', calls: 2, late: 25 });
  });
});
