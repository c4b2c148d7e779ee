import type { Moments } from './phases.ts';
import type { Played } from './play.ts';
import type { Report } from './report.ts';

/** A report as a run would give it, with distinct figures. */

const never: Moments = { podGone: null, deleting: null, gone: null, detached: null, attached: null, running: null };

export const stuck: Played = { moments: never, answered: 0, loaded: null };

/** A recovery whose volume is attached after this many seconds, `late` of them before the old pod is gone. */
export const recovered = (attached: number, late: number, loaded: number | null = null): Played => ({
  moments: {
    podGone: late,
    deleting: late + 0.1,
    gone: late + 1.1,
    detached: late + 0.6,
    attached,
    running: attached + 0.5,
  },
  answered: attached - 0.5,
  loaded,
});

const first = { any: 0.01, mark: 0.11, deletedPod: 0.21 };

export const sample: Report = {
  machine: {
    cores: 2,
    processor: 'a processor',
    memoryGb: 8,
    load: { before: 0.2, after: 1.5 },
    versions: { Kubernetes: 'v1.36.3', etcd: 'v3.6.8', 'external-attacher': 'v4.12.0', 'Node.js': 'v24.0.0' },
  },
  command: 'npm run e2e:timeline',
  date: '2026-01-31',
  patience: 90,
  rows: [
    { way: 'nothing', played: [stuck] },
    { way: 'all', played: [recovered(32.4, 0.09)] },
    { way: 'floor', played: [recovered(2.4, 0.05), recovered(2.2, 0.05), recovered(2.9, 0.05)] },
    { way: 'warm', played: [recovered(2.6, 0.25), recovered(2.5, 0.25), recovered(2.7, 0.25)] },
    { way: 'cold', played: [recovered(3.2, 0.9, 0.3), recovered(3.3, 0.9, 0.3), recovered(3.4, 0.9, 0.3)] },
  ],
  sizes: [
    {
      nodes: 10,
      floor: [recovered(2.3, 0.05)],
      timed: [recovered(2.5, 0.2)],
      counted: [
        { calls: { 'GET nodes': 4, 'LIST pods': 3 }, first },
        { calls: { 'GET nodes': 3, 'LIST pods': 2 }, first },
      ],
    },
    {
      nodes: 5_000,
      floor: [recovered(2.3, 0.05)],
      timed: [recovered(2.6, 0.2)],
      counted: [{ calls: { 'GET nodes': 3, 'LIST pods': 2 }, first }],
    },
  ],
};
