import { describe, expect, it } from 'vitest';
import { aimsOf } from './aims.ts';
import type { Measured } from './measure.ts';
import { nameOf } from './tally.ts';

const question = { asks: 'a sweep', aim: 'pages', scene: () => Promise.reject(new Error('nobody plays it')) } as const;

const unmeasured = { outcomes: [], ms: 0, virtualMs: 0, rss: 0, heap: 0, bytes: 0, tlsConnections: 0, busy: 0 };

const measured = (nodes: number, calls: Measured['calls'], pages: Measured['pages']): Measured => ({
  nodes,
  calls,
  pages,
  ...unmeasured,
});

const request = (path: string) => ({ method: 'GET', path, headers: {}, body: '' });

describe('the aim that only the number of pages adds calls', () => {
  const aim = (calls: Measured['calls']): string | undefined =>
    aimsOf(question, [
      measured(10, { 'GET nodes': 3, 'LIST leases, page': 1, 'LIST pods of one namespace': 1 }, { leases: 1 }),
      measured(1_000, calls, { leases: 2 }),
    ])[0];

  it('is met if a list has more pages and each namespace is read as before', () => {
    expect(aim({ 'GET nodes': 3, 'LIST leases, page': 2, 'LIST pods of one namespace': 1 })).toBe(
      'aim met: a sweep: 5, 6 calls, more by pages of lists only',
    );
  });

  it.each([
    [
      'a list that is read again',
      { 'GET nodes': 3, 'LIST leases, page': 4, 'LIST pods of one namespace': 1 },
      'LIST leases, page',
    ],
    ['another call', { 'GET nodes': 4, 'LIST leases, page': 2, 'LIST pods of one namespace': 1 }, 'GET nodes'],
    [
      'a list whose pages were not counted',
      { 'GET nodes': 3, 'LIST leases, page': 2, 'LIST pods of one namespace': 1, 'LIST pods, page': 1 },
      'LIST pods, page',
    ],
  ])('is missed because of %s, and says so', (_, calls, wrong) => {
    expect(aim(calls)).toMatch(new RegExp(`^aim missed: .* but for: ${wrong}$`));
  });
});

it.each([
  ['/api/v1/pods?limit=500', 'LIST pods, page'],
  ['/api/v1/namespaces/team-1/pods?limit=500', 'LIST pods of one namespace'],
  ['/api/v1/pods?limit=500&fieldSelector=spec.nodeName%3Da', 'LIST pods of one node'],
  ['/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=500', 'LIST leases, page'],
  ['/api/v1/nodes?limit=1', 'LIST nodes, one to count them'],
  ['/api/v1/nodes?limit=500&continue=abc', 'LIST nodes, page'],
  ['/api/v1/nodes/a', 'GET nodes'],
])('%s is counted as %s', (path, name) => {
  expect(nameOf(request(path))).toBe(name);
});
