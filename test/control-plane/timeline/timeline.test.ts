import { describe, expect, it } from 'vitest';
import { aimsOf } from './aims.ts';
import { tally } from './calls.ts';
import { documentOf, othersPart } from './doc.ts';
import type { PhaseEvent } from './phases.ts';
import { after, isOver, momentsIn } from './phases.ts';
import { reportLines } from './reading.ts';
import type { Report, Row } from './report.ts';
import { recovered, sample, stuck } from './sample.ts';
import { asText, recoveryTable } from './table.ts';

const crashObjects = { former: 'old', home: 'home', refuge: 'refuge', machine: 'i-1' };

const pod = (at: number, uid: string, node: string, gone: boolean, running: boolean): PhaseEvent => ({
  of: 'pod',
  at,
  uid,
  node,
  gone,
  running,
});
const attachment = (
  at: number,
  node: string,
  change: Partial<Extract<PhaseEvent, { of: 'attachment' }>>,
): PhaseEvent => ({
  of: 'attachment',
  at,
  node,
  deleting: false,
  gone: false,
  attached: false,
  ...change,
});
const disk = (at: number, holder: string | null): PhaseEvent => ({ of: 'disk', at, holder });

const recovery: readonly PhaseEvent[] = [
  pod(900, 'old', 'home', false, true),
  disk(950, 'i-1'),
  attachment(990, 'home', { attached: true }),
  pod(1_100, 'old', 'home', true, true),
  pod(1_120, 'new', 'refuge', false, false),
  attachment(1_200, 'home', { attached: true, deleting: true }),
  disk(1_700, null),
  attachment(2_200, 'home', { deleting: true, gone: true }),
  attachment(2_210, 'refuge', {}),
  disk(2_800, 'i-2'),
  attachment(3_200, 'refuge', { attached: true }),
  pod(3_700, 'new', 'refuge', false, true),
];

describe('the moments of a recovery', () => {
  it('are the first sightings of each step, in seconds after the remedy began', () => {
    const moments = after(1_000, momentsIn(recovery, crashObjects));
    expect(moments).toEqual({ podGone: 0.1, deleting: 0.2, gone: 1.2, detached: 0.7, attached: 2.2, running: 2.7 });
  });

  it('are missing while they were not seen', () => {
    const moments = momentsIn(recovery.slice(0, 6), crashObjects);
    expect(moments).toEqual({
      podGone: 1_100,
      deleting: 1_200,
      gone: null,
      detached: null,
      attached: null,
      running: null,
    });
    expect([isOver(moments), isOver(momentsIn(recovery, crashObjects))]).toEqual([false, true]);
  });

  it('are not those of a pod that came back to the dead node', () => {
    const astray = recovery.map((seen): PhaseEvent =>
      seen.of === 'pod' && seen.uid === 'new' ? { ...seen, node: 'home' } : seen,
    );
    expect(momentsIn(astray, crashObjects).running).toBeNull();
  });
});

describe('the calls of a run', () => {
  it('are counted by verb and resource, and those to EC2 by action', () => {
    const passing = (method: string, path: string) => ({ to: 'api', method, path, body: '' }) as const;
    const calls = tally([
      passing('GET', '/api/v1/nodes?limit=1'),
      passing('GET', '/api/v1/nodes/home'),
      passing('GET', '/api/v1/namespaces/db/pods?limit=500'),
      passing('DELETE', '/api/v1/namespaces/db/pods/db-0?gracePeriodSeconds=0'),
      passing('PATCH', '/api/v1/namespaces/db/pods/db-0/status'),
      passing('GET', '/apis/storage.k8s.io/v1/volumeattachments/csi-1'),
      passing('GET', '/apis/storage.k8s.io/v1/volumeattachments/csi-2'),
      { to: 'ec2', method: 'POST', path: '/', body: 'Action=DescribeInstances&Version=1' },
    ]);
    expect(calls).toEqual({
      'LIST nodes': 1,
      'GET nodes': 1,
      'LIST pods': 1,
      'DELETE pods': 1,
      'PATCH pods/status': 1,
      'GET volumeattachments': 2,
      'EC2 DescribeInstances': 1,
    });
  });
});

describe('the table', () => {
  it('has the median of each moment, the range of the attach, and a dash for what never happened', () => {
    const lines = asText(recoveryTable(sample))
      .split('\n')
      .map((line) => line.trim().split(/\s{2,}/));
    expect(lines.slice(1)).toEqual([
      ['nothing', '1', '–', '– / –', '–', '–', '–', '–'],
      ['Node deleted, then pods and VolumeAttachment', '1', '0.09', '0.19 / 1.19', '0.69', '32.40', '13.50', '32.90'],
      [
        'the floor: taint NoSchedule and force delete, no proof',
        '3',
        '0.05',
        '0.15 / 1.15',
        '0.65',
        '2.40 (2.20–2.90)',
        '1.00',
        '2.90',
      ],
      ['Cloudfence: AWS handler, warm', '3', '0.25', '0.35 / 1.35', '0.85', '2.60 (2.50–2.70)', '1.08', '3.10'],
      ['Cloudfence: AWS handler, cold', '3', '0.90', '1.00 / 2.00', '1.50', '3.30 (3.20–3.40)', '1.38', '3.80'],
    ]);
  });
});

const withRow = (row: Row): Report => ({
  ...sample,
  rows: sample.rows.map((one) => (one.way === row.way ? row : one)),
});

describe('the aims', () => {
  it('are met or missed by the medians of the same run', () => {
    expect(aimsOf(sample).map(({ met }) => met)).toEqual([true, true, false, false, true, true]);
    expect(aimsOf(sample).at(-1)?.says).toBe('1.04 × the time among 5,000 Nodes, of at most 1.1 × (the floor: 1.00 ×)');
    expect(aimsOf(sample).map(({ says }) => says)).toContain(
      'Cloudfence: AWS handler, warm: 0.20 s more than the floor, of at most 0.5 s more, proof included',
    );
  });

  it('are missed by a volume that was never attached', () => {
    expect(
      aimsOf(withRow({ way: 'warm', played: [stuck] }))
        .slice(0, 2)
        .map(({ met }) => met),
    ).toEqual([false, false]);
  });

  it('count calls by kind, and compare them exactly', () => {
    const [small, large] = sample.sizes;
    if (!small || !large) throw new Error('the sample has two sizes');
    const counted = [
      { calls: { 'GET nodes': 3, 'LIST pods': 1, 'LIST nodes': 1 }, first: { any: 0, mark: 0, deletedPod: 0 } },
    ];
    const report = { ...sample, sizes: [small, { ...large, counted, timed: [recovered(2.8, 0.2)] }] };
    expect(
      aimsOf(report)
        .slice(-2)
        .map(({ met }) => met),
    ).toEqual([false, false]);
  });
});

describe('what is written', () => {
  it('takes its figures from the measurement', () => {
    expect(reportLines(sample)[0]).toContain('nothing: not within 90 s');
    expect(reportLines(sample)[1]).toContain(
      'Cloudfence: AWS handler, warm: 0.25 s until the old pod is gone, 2.35 s from there',
    );
    expect(reportLines(sample).at(-1)).toContain('mark after 110 ms');
  });

  it('names its origin, each aim, and what the measurement did not wait for', () => {
    const text = documentOf(sample);
    for (const { says } of aimsOf(sample)) expect(text).toContain(says);
    expect(text).toContain('`npm run e2e:timeline` on 2026-01-31');
    expect(text).toContain('2 cores');
    expect(text).toContain('v4.12.0');
    expect(text).toContain('for 90 s only');
  });

  it('keeps what another command has measured', () => {
    const others = '\n## At a distance\n\nsome figures\n';
    expect(othersPart(`${documentOf(sample)}${others}`)).toBe(others);
    expect(othersPart(documentOf(sample))).toBe('');
  });

  it('says if other programs used the machine', () => {
    expect(documentOf(sample)).not.toContain('other programs ran');
    expect(documentOf({ ...sample, machine: { ...sample.machine, load: { before: 8, after: 8 } } })).toContain(
      'other programs ran',
    );
  });
});
