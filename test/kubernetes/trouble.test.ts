import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import { describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { ClusterStep } from '../../fencing/model/steps.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { objectReads } from '../../kubernetes/connection.ts';
import {
  CSI_NODES,
  DRIVER,
  LEASES,
  NODES,
  queryFor,
  granted,
  made,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  recordFor,
  targetOf,
  unhurried,
  usingClaim,
} from '../contract/cluster/harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, faultyCluster, first, patientClock } from './wire.ts';

type Stage = ReturnType<typeof faultyCluster>;

const tooMany = (seconds: string) => ({
  status: 429,
  headers: { 'content-type': 'application/json', 'retry-after': seconds },
  body: '{"kind":"Status"}',
});
const broken = { status: 500, headers: { 'content-type': 'text/plain' }, body: 'oops' };

describe('a read', () => {
  it('waits as long as the server asks, and then tries again', async () => {
    const stage = faultyCluster({ before: first(2, tooMany('1')) });
    const { name, uid } = await makeNode(stage);
    expect((await stage.cluster.recheck(name, unhurried())).uid).toBe(uid);
    expect(stage.slept).toEqual([1_000, 1_000]);
  });

  it.each([
    ['a server error', broken],
    ['a broken connection', 'drop' as const],
  ])('is tried again after %s, and gives up in the end', async (_case, fault) => {
    const passing = faultyCluster({ before: first(2, fault, ({ path }) => path.startsWith(NODES)) });
    const { name, uid } = await makeNode(passing);
    expect((await passing.cluster.recheck(name, unhurried())).uid).toBe(uid);
    const lasting = faultyCluster({ before: () => fault });
    await expect(lasting.cluster.recheck(name, unhurried())).rejects.toThrow(Unavailable);
    expect(Math.max(...lasting.slept)).toBe(800);
  });

  it.each(['6', '60'])('does not wait if the server asks for a long pause: %s s', async (seconds) => {
    const stage = faultyCluster({ before: () => tooMany(seconds) });
    await expect(stage.cluster.recheck('n', unhurried())).rejects.toThrow(Unavailable);
    expect(stage.slept).toEqual([]);
  });

  it('that is forbidden is denied at once, with the reason', async () => {
    const poor = clusterOver(async (request) => {
      const body = { kind: 'Status', reason: 'Forbidden', message: 'nodes is forbidden' };
      return request.path.includes('leases')
        ? { status: 404, headers: {}, body: '' }
        : { status: 403, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    });
    await expect(poor.suspects(1, unhurried())).rejects.toThrow(Unavailable);
    await expect(poor.find(queryFor('i-1'), unhurried())).rejects.toThrow(
      /GET \/api\/v1\/nodes.*403 Forbidden: nodes is forbidden/,
    );
    await expect(poor.find(queryFor('i-1'), unhurried())).rejects.toThrow(PermissionDenied);
  });

  it.each([
    ['a proxy', { 'content-type': 'text/html' }, '<h1>404</h1>'],
    ['an API server that does not serve the path', { 'content-type': 'text/plain' }, '404 page not found'],
    [
      'an API server that does not know the resource',
      { 'content-type': 'application/json' },
      '{"kind":"Status","reason":"NotFound","message":"the server could not find the requested resource","details":{}}',
    ],
  ])('does not treat the 404 of %s as a missing object', async (_case, headers, body) => {
    const cluster = clusterOver(async () => ({ status: 404, headers, body }));
    await expect(cluster.recheck('n1', unhurried())).rejects.toThrow(/404/);
  });

  it('does not accept an answer that cannot be parsed', async () => {
    const cluster = clusterOver(async () => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: '{"metadata":',
    }));
    await expect(cluster.recheck('n1', unhurried())).rejects.toThrow(Unavailable);
  });

  it('gets ten seconds for each request', async () => {
    const deadlines: number[] = [];
    const deadline = (ms: number): AbortSignal => {
      deadlines.push(ms);
      return AbortSignal.abort(new Error('too late'));
    };
    const cluster = clusterOver(
      async (_request, signal) => {
        signal?.throwIfAborted();
        return { status: 200, headers: {}, body: '' };
      },
      { ...patientClock(), deadline },
    );
    await expect(cluster.recheck('n1', unhurried())).rejects.toThrow(/too late/);
    expect(new Set(deadlines)).toEqual(new Set([10_000]));
  });

  it('ends when its signal does', async () => {
    const over = AbortSignal.abort(new Error('out of time'));
    const cluster = clusterOver(async (_request, signal) => {
      signal?.throwIfAborted();
      return { status: 200, headers: {}, body: '' };
    });
    await expect(cluster.recheck('n1', over)).rejects.toThrow(/out of time/);
  });
});

it.each([
  { namespace: '..', name: 'db-0' },
  { namespace: 'default', name: '..' },
])('an object whose name or namespace would lead to another path is not asked for (%o)', async (key) => {
  const { readIfPresent, impossibleNames } = objectReads(() => Promise.reject(new Error('nobody asks for this')));
  expect(await readIfPresent(CoreV1Api, key, (core, one) => core.readNamespacedPod(one))).toBeNull();
  expect(impossibleNames()).toEqual(['..']);
});

const denied = {
  status: 403,
  headers: { 'content-type': 'application/json' },
  body: '{"kind":"Status","reason":"Forbidden"}',
};
const nothing = { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' };

const withVolume = async (stage: Stage, handle: string, node: string, machine: string): Promise<void> => {
  await makeVolume(stage, handle, handle);
  await makeAttachment(stage, attachmentName({ driver: DRIVER, handle }, node), node, handle, machine);
  await makePod(stage, node, usingClaim(handle));
};

/**
 * A Node with a volume, the pod that replaces its pod on another Node, and what a third Node has left behind. `spoil`
 * makes the API server give another answer for one path.
 */
const everything = async (wrong: typeof denied) => {
  let spoilt = '';
  const asked = new Set<string>();
  const stage = faultyCluster({
    before: ({ path }) => {
      const [at = ''] = path.split('?', 1);
      asked.add(at);
      return at === spoilt ? wrong : undefined;
    },
  });
  const status = { volumesAttached: [{ name: `kubernetes.io/csi/${DRIVER}^vol-1`, devicePath: '' }] };
  const { name } = await makeNode(stage, { name: 'node', machine: 'i-1' });
  await stage.admin('PATCH', `${NODES}/${name}/status`, { status });
  await makeNode(stage, { name: 'other', machine: 'i-3' });
  await makeNode(stage, { name: 'nameless', spec: { providerID: undefined } });
  await made(stage, CSI_NODES, { metadata: { name: 'node' }, spec: { drivers: [] } });
  for (const held of ['node', 'nameless', 'gone']) await made(stage, LEASES, { metadata: { name: held }, spec: {} });
  await withVolume(stage, 'vol-1', 'node', 'i-1');
  await makePod(stage, 'other', usingClaim('vol-1'));
  await withVolume(stage, 'vol-2', 'gone', 'i-2');
  // Each question comes from another client, because a client keeps the version of the server.
  const ask = (question: Question) => question(clusterOver(inProcess(stage.server)));
  return { asked, ask, spoil: (path: string) => (spoilt = path) };
};

type Question = (cluster: Cluster) => Promise<unknown>;

const look = (machine: string, node: string | null): Question => {
  const request = { query: queryFor(machine), node, remembered: null, successorsOf: [`${DRIVER}^vol-1`] };
  return (cluster) => cluster.look({ ...request, search: node !== null }, unhurried());
};

/** Each question, and the smallest number of paths that it reads. */
const questions: readonly (readonly [string, number, Question])[] = [
  ['a Node and everything on it', 12, look('i-1', 'node')],
  ['what a Node has left behind', 9, look('i-2', null)],
  ['a Node before a step', 2, ({ recheck }) => recheck('node', unhurried())],
  ['what a Node says of its machine', 2, ({ identify }) => identify('node', unhurried())],
  ['the Nodes of a machine', 4, ({ find }) => find(queryFor('i-4', 'node', 'nameless'), unhurried())],
  ['what a sweep looks at', 4, ({ suspects }) => suspects(60_000, unhurried())],
  ['the other Nodes', 2, ({ surveyConnectivity }) => surveyConnectivity('n', 60_000, queryFor('i-1'), unhurried())],
  [
    'the cap',
    3,
    ({ reserve }) => reserve({ machine: 'i-1', boot: 'b', cap: defaultPolicy.cap, onlyAsked: true }, unhurried()),
  ],
];

describe.each(questions)('a question about %s', (_, least, question) => {
  it.each([
    ['denied', denied, PermissionDenied],
    ['answered by something else than the API server', nothing, Unavailable],
  ])('has no answer if a single one of its reads is %s', async (_wrong, wrong, expected) => {
    const { asked, ask, spoil } = await everything(wrong);
    await ask(question);
    const paths = [...asked];
    expect(paths.length).toBeGreaterThanOrEqual(least);
    const faults = new Map<string, unknown>();
    for (const path of paths) {
      spoil(path);
      faults.set(path, await ask(question).catch((error: unknown) => error));
    }
    expect([...faults].filter(([, fault]) => !(fault instanceof expected))).toEqual([]);
  });
});

describe('a write', () => {
  it('is never sent twice, and is found done if only its answer was lost', async () => {
    const stage = faultyCluster({ after: first(1, 'drop' as const, ({ method }) => method === 'PATCH') });
    const node = await makeNode(stage);
    const step: ClusterStep = {
      do: 'mark',
      node: targetOf(node),
      record: recordFor(node, 'i-1'),
      addOutOfService: true,
    };
    await expect(stage.cluster.apply(step, granted, unhurried())).rejects.toThrow(Unavailable);
    expect(stage.slept).toEqual([]);
    expect(await stage.cluster.apply(step, granted, unhurried())).toBe('already');
    expect(stage.server.store.state.audit.filter(({ user }) => user === 'cloudfence')).toHaveLength(1);
  });

  it('is not tried again while the server is busy', async () => {
    const stage = faultyCluster({ before: first(1, tooMany('1'), ({ method }) => method === 'DELETE') });
    const { name, uid } = await makePod(stage, 'n1');
    const step: ClusterStep = { do: 'delete-pod', pod: { namespace: 'default', name, uid } };
    await expect(stage.cluster.apply(step, granted, unhurried())).rejects.toThrow(Unavailable);
    expect(stage.server.store.get('pods', name, 'default')).toBeDefined();
  });

  it.each(['delete-pod', 'fail-pod'] as const)(
    'that a rule of the cluster forbids fails with the words of that rule (%s)',
    async (what) => {
      const body = JSON.stringify({
        kind: 'Status',
        reason: 'Invalid',
        message: 'pods are deleted by their own people',
      });
      const forbids = { status: 422, headers: { 'content-type': 'application/json' }, body };
      const stage = faultyCluster({ before: first(1, forbids, ({ method }) => method !== 'GET' && method !== 'POST') });
      const { name, uid } = await makePod(stage, 'n1');
      const step: ClusterStep = { do: what, pod: { namespace: 'default', name, uid } };
      const answer = stage.cluster.apply(step, granted, unhurried());
      await expect(answer).rejects.toThrow(Refused);
      await expect(answer).rejects.toThrow(/422 Invalid: pods are deleted by their own people/);
      expect(stage.server.store.get('pods', name, 'default')).toBeDefined();
    },
  );

  it('ends when its signal does', async () => {
    const stage = faultyCluster({});
    const node = await makeNode(stage);
    const gaveUp = new AbortController();
    const hanging = clusterOver((request, signal) => {
      if (request.method !== 'PATCH') return inProcess(stage.server)(request, signal);
      const { promise, reject } = Promise.withResolvers<never>();
      signal?.addEventListener('abort', () => reject(signal.reason));
      gaveUp.abort(new Error('out of time'));
      return promise;
    });
    const step = { do: 'mark', node: targetOf(node), record: recordFor(node, 'i-1'), addOutOfService: true } as const;
    await expect(hanging.apply(step, granted, gaveUp.signal)).rejects.toThrow(/got no response/);
  });

  it('that loses a race to another fence is refused, and changes nothing', async () => {
    const stage = faultyCluster({});
    const node = await makeNode(stage, { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } });
    const rival = { metadata: { annotations: { 'cloudfence.dev/fence': 'another' } } };
    const racing = clusterOver(async (request, signal) => {
      if (request.method === 'PATCH') await stage.admin('PATCH', `${NODES}/${node.name}`, rival);
      return inProcess(stage.server)(request, signal);
    });
    const step: ClusterStep = {
      do: 'mark',
      node: targetOf(node),
      record: recordFor(node, 'i-1'),
      addOutOfService: true,
    };
    await expect(racing.apply(step, granted, unhurried())).rejects.toThrow(Refused);
    expect(stage.server.store.get('nodes', node.name)?.spec.taints).toHaveLength(1);
  });
});
