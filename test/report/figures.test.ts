import { describe, expect, it } from 'vitest';
import { percentile, shadowSummaryOf, spreadsOf } from '../../report/figures.ts';
import { objectsToRead, requireSome, selected } from '../../report/select.ts';
import { fenced, imagined, refused, released, reportOf, withPhases } from './samples.ts';

describe('a percentile', () => {
  it('is one of the values: the nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    expect([0.5, 0.9, 0.99].map((share) => percentile(hundred, share))).toEqual([50, 90, 99]);
    expect([0.5, 0.9, 0.99].map((share) => percentile([1, 2, 3], share))).toEqual([2, 3, 3]);
    expect(percentile([], 0.5)).toBeNull();
  });
});

describe('the spread of a phase', () => {
  it('counts only incidents in which both of its ends are known, and in the right order', () => {
    const some = [
      withPhases(fenced, 'a', { received: 2, proven: 3 }),
      withPhases(fenced, 'b', { received: 2, proven: 5 }),
      withPhases(fenced, 'other clock', { received: 9, proven: 1 }),
      { ...withPhases(fenced, 'c', {}), phases: { ...fenced.phases, proven: null } },
      refused,
    ];
    const proof = spreadsOf(some).phases.find(({ to }) => to === 'proven');
    expect(proof).toMatchObject({ known: 2, of: 4, p50: 1_000, p90: 3_000, longest: 3_000 });
  });
});

describe('the summary of shadow mode', () => {
  const kept = { ...refused, id: 'refused', shadow: true };

  it('counts what would have been fenced, and what would have been refused and why', () => {
    expect(shadowSummaryOf([imagined, kept, { ...kept, id: 'again' }, released])).toMatchObject({
      incidents: 3,
      wouldFence: 1,
      refusals: [{ code: 'paused', count: 2, says: 'paused: network maintenance' }],
      steps: new Map([
        ['mark', 1],
        ['delete-pod', 1],
      ]),
    });
  });

  it('counts a time only if a run saw it', () => {
    expect(shadowSummaryOf([imagined, kept])).toMatchObject({ recovered: [], notSeen: 2 });
    const seen = { ...withPhases(imagined, 'seen', { attachedElsewhere: 380 }), fence: null };
    expect(shadowSummaryOf([seen, kept])).toMatchObject({ recovered: [380_000], notSeen: 1 });
  });
});

describe('the choice of incidents', () => {
  const all = [refused, { ...released, node: 'node-b' }, imagined];
  const wanted = { target: null, since: null, shadow: false };

  it.each([released.id, 'node-b', 'node/node-b'])('finds %s', (target) =>
    expect(selected(all, { ...wanted, target }).map(({ id }) => id)).toEqual([released.id]),
  );
  it('finds every incident of a machine', () =>
    expect(selected(all, { ...wanted, target: refused.machine })).toHaveLength(3));
  it('takes only what something happened to since then', () => {
    const since = Date.parse('2026-01-01T00:02:00.000Z');
    expect(selected(all, { ...wanted, since }).map(({ id }) => id)).toEqual([released.id]);
  });
  it('takes only what shadow mode saw', () => expect(selected(all, { ...wanted, shadow: true })).toEqual([imagined]));

  it('reads only the objects whose names fit, if any does', () => {
    const objects = ['incidents/c/node-1/f-1.json', 'incidents/c/node-2/f-2.json'].map((name, index) => ({
      name,
      written: index * 1_000,
    }));
    const read = (target: string | null, since: number | null = null) =>
      objectsToRead(objects, { target, since, shadow: false }).map(({ name }) => name.at(-6));
    expect([read('node-2'), read('f-1'), read('i-0'), read(null), read(null, 500)]).toEqual([
      ['2'],
      ['1'],
      ['1', '2'],
      ['1', '2'],
      ['2'],
    ]);
  });

  it('says so if there is nothing to tell about a target', () => {
    const report = reportOf([], { wanted: { ...wanted, target: 'node-x' } });
    expect(() => requireSome(report)).toThrow(/no incident of node-x in the folder incidents/);
    expect(() => requireSome(reportOf([]))).not.toThrow();
  });
});
