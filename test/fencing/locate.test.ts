import { describe, expect, it } from 'vitest';
import { clustersToAsk, withLocation, type ClusterSearchResult } from '../../fencing/loop/locate.ts';
import { InvalidConfiguration, PermissionDenied, Unavailable, Unexpected } from '../../fencing/model/errors.ts';
import { because } from '../../fencing/model/reason.ts';
import { begun } from './ports.ts';
import { cluster, machine, NOW, pod, volume } from './view-builder.ts';

/** What a run concludes from the answers of all clusters that it asked for its machine. */

const now = { wall: NOW, mono: 5_000 };
const seen = { value: machine(), requestedAt: now, receivedAt: now.mono };
const known = { ...begun(), machine: seen, failures: 3 };

const answer = (change: Partial<ClusterSearchResult> = {}): ClusterSearchResult => ({
  cluster: 'blue',
  nodes: [],
  marked: [],
  facts: null,
  error: null,
  ...change,
});
const green = (change: Partial<ClusterSearchResult> = {}) => answer({ cluster: 'green', ...change });
const after = (...found: readonly ClusterSearchResult[]) => withLocation(known, found, now);
const down = new Unavailable('no route to blue');
const denied = new PermissionDenied('401 Unauthorized');

describe('the clusters to ask for a machine', () => {
  const all = [{ name: 'blue' }, { name: 'green' }];
  it.each([
    [[], ['blue', 'green']],
    [['green'], ['green']],
    [['red'], ['blue', 'green']],
    [['red', 'blue'], ['blue']],
    [
      ['gre', 'green-2', 'GREEN'],
      ['blue', 'green'],
    ],
  ])('whose tags name %j are %j', (clusters, asked) => {
    expect(clustersToAsk({ clusters }, all).map(({ name }) => name)).toEqual(asked);
  });
});

describe('a machine with a Node', () => {
  it('is there, even if another cluster does not answer', () => {
    const found = after(answer({ error: down }), green({ nodes: ['node-a'] }));
    expect(found).toEqual({ ...known, location: { cluster: 'green', node: 'node-a' }, failures: 0 });
  });

  it('is known by the look that found its Node, whatever another cluster says about leftovers', () => {
    const whole = { value: cluster(), requestedAt: now, receivedAt: now.mono };
    const leftovers = { value: cluster({ node: null, pods: [], volumes: [] }), requestedAt: now, receivedAt: now.mono };
    expect(after(answer({ facts: leftovers }), green({ nodes: ['node-a'], facts: whole })).cluster).toBe(whole);
  });

  it.each([
    ['in one cluster', [answer({ nodes: ['node-a', 'node-b'] })], 'node-a in blue, node-b in blue'],
    ['in two', [answer({ nodes: ['node-a'] }), green({ nodes: ['node-a'] })], 'node-a in blue, node-a in green'],
  ])('and a second Node %s is refused', (_, found, nodes) => {
    expect(after(...found)).toEqual({
      ...known,
      ending: {
        outcome: 'refused',
        reason: because(
          'identity-ambiguous',
          `more than one Node names m-1: ${nodes}; run cloudfence doctor for the remedy`,
        ),
        lookAgainIn: null,
        retry: false,
      },
    });
  });

  it('and a second Node is looked at first if our taint is on it, and is refused then for that reason', () => {
    const both = after(answer({ nodes: ['node-a'] }), green({ nodes: ['node-a', 'node-b'], marked: ['node-b'] }));
    expect(both).toMatchObject({
      location: { cluster: 'green', node: 'node-b' },
      ambiguity: { code: 'identity-ambiguous' },
      ending: null,
      failures: 0,
    });
    const sameName = after(answer({ nodes: ['node-a'] }), green({ nodes: ['node-a'], marked: ['node-a'] }));
    expect(sameName.location).toEqual({ cluster: 'green', node: 'node-a' });
  });
});

describe('a machine without a Node', () => {
  const left = (change: Parameters<typeof cluster>[0]) => ({
    value: cluster({ node: null, pods: [], volumes: [], ...change }),
    requestedAt: { wall: NOW, mono: 4_000 },
    receivedAt: 4_500,
  });

  it.each([
    ['a volume', { volumes: [volume()] }],
    ['a pod', { pods: [pod()] }],
  ])('is in the cluster where it left %s', (_, change) => {
    const leftovers = left(change);
    const found = after(answer({ facts: left({}) }), green({ facts: leftovers }));
    expect(found).toMatchObject({ location: { cluster: 'green', node: null }, failures: 0, ending: null });
    expect(found.cluster).toEqual(leftovers);
  });

  it('is not in a cluster in which only an attachment under the name of another machine names it', () => {
    const invented = left({ volumes: [volume({ nameTaken: true })] });
    const found = (leftovers: typeof invented) =>
      after(answer({ facts: invented }), green({ facts: leftovers })).location?.cluster;
    expect(found(left({ volumes: [volume()] }))).toBe('green');
    expect(found(left({ pods: [pod()] }))).toBe('green');
    expect(found(left({}))).toBe('blue');
  });

  it.each([
    ['nothing was looked for', null],
    ['nothing is left', left({})],
  ])('is ignored if %s', (_, leftovers) => {
    expect(after(answer({ facts: leftovers }), green())).toEqual({
      ...known,
      failures: 0,
      ending: {
        outcome: 'ignored',
        reason: because('no-node', 'no Node, pod, or VolumeAttachment in blue, green belongs to m-1'),
        lookAgainIn: null,
        retry: false,
      },
    });
  });
});

describe('a machine that belongs to nothing', () => {
  const reasonFor = (facts: Parameters<typeof machine>[0], intent: 'fence' | 'release' = 'fence') => {
    const state = { ...known, machine: { ...seen, value: machine(facts) }, request: { ...known.request, intent } };
    const { ending } = withLocation(state, [answer(), green()], now);
    return [ending?.outcome, ending?.reason.code];
  };

  it.each([
    ['is not known if the cloud does not know it', { power: 'missing' }, 'machine-unknown'],
    ['is not known if the cloud says nothing about it', { power: 'unknown' }, 'machine-unknown'],
    ['is missed in the cluster that its tags name', { clusters: ['green'] }, 'not-in-its-cluster'],
    ['is missed there while it runs', { clusters: ['green'], power: 'running' }, 'not-in-its-cluster'],
    ['may not have joined that cluster while it starts', { clusters: ['green'], power: 'starting' }, 'no-node'],
    ['has left that cluster if it is terminated', { clusters: ['green'], forGood: true }, 'no-node'],
    ['is of no cluster if its tags name another one', { clusters: ['red'] }, 'no-node'],
  ] as const)('%s, and stays ignored', (_, facts, code) => {
    expect(reasonFor(facts)).toEqual(['ignored', code]);
    expect(reasonFor(facts, 'release')).toEqual(['ignored', 'no-node']);
  });
});

describe('a machine that a cluster which does not answer may hold', () => {
  it('is searched for again in five seconds, after a new look at the machine', () => {
    const found = after(answer({ error: down }), green());
    const reason = because(
      'cluster-unreachable',
      'no reachable cluster has m-1, and these clusters did not respond: blue (no route to blue)',
    );
    expect(found).toEqual({
      ...known,
      machine: null,
      resumeAt: 10_000,
      pending: { outcome: 'waiting', reason, ms: 5_000 },
    });
    expect(after(answer({ error: down }), green({ error: new Unavailable('slow') })).pending?.reason.says).toMatch(
      /: blue \(no route to blue\), green \(slow\)$/,
    );
  });

  it('is searched for again even if another cluster has leftovers of it', () => {
    const leftovers = { value: cluster({ node: null }), requestedAt: now, receivedAt: now.mono };
    expect(after(answer({ error: down }), green({ facts: leftovers }))).toMatchObject({
      location: null,
      resumeAt: 10_000,
    });
  });

  it.each([
    ['denies the caller', denied, 'denied', true],
    ['cannot be opened', new InvalidConfiguration(['no such context']), 'invalid', false],
  ] as const)('ends the run at once if that cluster %s', (_, error, code, retry) => {
    const found = after(answer({ error: down }), green({ error }));
    expect(found.ending).toEqual({
      outcome: 'failed',
      reason: because(code, `green: ${error.message}`),
      lookAgainIn: null,
      retry,
    });
    expect(found.resumeAt).toBeNull();
  });

  it('ends the run without naming the cluster if an unexpected error occurs', () => {
    const broken = new Unexpected('a bug');
    expect(after(answer({ error: broken })).ending).toEqual({
      outcome: 'failed',
      reason: because('unexpected', 'a bug'),
      lookAgainIn: null,
      retry: broken.retry,
    });
  });

  it.each(['cluster-unreachable', 'denied'] as const)(
    'is searched for again if it is denied after %s, because an API server that has just started knows no roles yet',
    (code) => {
      const waiting = { ...known, pending: { outcome: 'waiting' as const, reason: because(code, 'before'), ms: 1 } };
      const found = withLocation(waiting, [answer({ error: denied })], now);
      expect(found).toMatchObject({
        ending: null,
        machine: null,
        resumeAt: 10_000,
        pending: { outcome: 'failed', reason: { code: 'denied', says: 'blue: 401 Unauthorized' }, ms: 5_000 },
      });
      const broken = withLocation(waiting, [answer({ error: new InvalidConfiguration(['no']) })], now);
      expect(broken.ending).toMatchObject({ outcome: 'failed', retry: false });
    },
  );

  it('is not searched for again if it is denied after another wait', () => {
    const waiting = { ...known, pending: { outcome: 'waiting' as const, reason: because('not-fenced', 'x'), ms: 1 } };
    expect(withLocation(waiting, [answer({ error: denied })], now).ending).toMatchObject({ retry: true });
  });
});
