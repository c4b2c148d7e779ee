import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openKubernetesServer, type KubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import { freshApi } from './api-client.ts';

const PODS = '/api/v1/namespaces/default/pods';
let api: ReturnType<typeof freshApi>;

beforeEach(() => {
  api = freshApi();
  api.ask('POST', PODS, {
    body: { metadata: { name: 'db-0' }, spec: { nodeName: 'n1', containers: [{ name: 'main' }] } },
  });
});

describe('kubectl drain', () => {
  it('finds that it may evict pods', () => {
    const served = JSON.stringify(api.ask('GET', '/api/v1').body);
    expect(served).toContain('"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy"');
  });

  it('evicts a pod, with a grace period', () => {
    const body = { kind: 'Eviction', metadata: { name: 'db-0' }, deleteOptions: { gracePeriodSeconds: 200 } };
    expect(api.ask('POST', `${PODS}/db-0/eviction`, { body })).toMatchObject({ status: 201, body: { kind: 'Status' } });
    expect(api.ask('GET', `${PODS}/db-0`).body.metadata).toMatchObject({ deletionGracePeriodSeconds: 200 });
  });

  it('gets an error if there is no such pod, or if the pod is another one', () => {
    expect(api.ask('POST', `${PODS}/db-9/eviction`, { body: {} }).status).toBe(404);
    const body = { deleteOptions: { preconditions: { uid: 'another' } } };
    expect(api.ask('POST', `${PODS}/db-0/eviction`, { body }).status).toBe(409);
    expect(api.ask('GET', `${PODS}/db-0/eviction`).status).toBe(405);
    expect(api.ask('GET', `${PODS}/db-0`).body.metadata.deletionTimestamp).toBeUndefined();
  });
});

it.each([
  ['a patch', 'PATCH', '?dryRun=All', {}],
  ['a delete', 'DELETE', '?dryRun=All', {}],
  ['options of a delete', 'DELETE', '', { dryRun: ['All'] }],
])('a dry run of %s is rejected, because the sandbox has none', (_case, method, query, body) => {
  const before = api.ask('GET', `${PODS}/db-0`).body;
  expect(api.ask(method, `${PODS}/db-0${query}`, { body })).toMatchObject({ status: 400 });
  expect(api.ask('GET', `${PODS}/db-0`).body).toEqual(before);
});

describe('kubectl get', () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  const schema = z.object({
    columnDefinitions: z.array(z.object({ name: z.string() })),
    rows: z.array(z.object({ cells: z.array(z.unknown()) })),
  });
  const table = (path: string) => schema.parse(api.ask('GET', path, { headers: { accept } }).body);

  it('shows pods with their state', () => {
    api.clock.now += 61_000;
    const { columnDefinitions, rows } = table(PODS);
    expect(columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Ready', 'Status', 'Restarts', 'Age', 'Node']);
    expect(rows.map(({ cells }) => cells)).toEqual([['db-0', '0/1', 'ContainerCreating', 0, '61s', 'n1']]);
    api.ask('DELETE', `${PODS}/db-0`);
    expect(table(`${PODS}/db-0`).rows[0]?.cells[2]).toBe('Terminating');
  });

  it('shows Nodes that are silent, ready, or cordoned', () => {
    const conditions = [{ type: 'Ready', status: 'True' }];
    api.ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } });
    api.ask('POST', '/api/v1/nodes', {
      body: { metadata: { name: 'n2' }, spec: { unschedulable: true }, status: { conditions } },
    });
    expect(table('/api/v1/nodes').rows.map(({ cells }) => cells.slice(0, 2))).toEqual([
      ['n1', 'NotReady'],
      ['n2', 'Ready,SchedulingDisabled'],
    ]);
  });

  it('gets objects of a kind without a table, and shows their names and ages itself', () => {
    expect(api.ask('GET', '/api/v1/configmaps', { headers: { accept } }).body.kind).toBe('ConfigMapList');
  });
});

describe('the Events that `kubectl describe` and `kubectl events` show', () => {
  const EVENTS = '/api/v1/namespaces/default/events';

  beforeEach(() => {
    for (const name of ['db-0', 'other'])
      api.ask('POST', '/apis/events.k8s.io/v1/namespaces/default/events', {
        body: {
          metadata: { name: `${name}.1` },
          eventTime: '2026-11-21T10:00:00.000000Z',
          reportingController: 'cloudfence.dev/cloudfence',
          reportingInstance: 'one',
          action: 'Fencing',
          reason: 'ForceDeleted',
          type: 'Normal',
          note: 'was deleted',
          regarding: { kind: 'Pod', name, namespace: 'default' },
        },
      });
  });

  it('have the older format, and are selected by its fields', () => {
    const about = 'involvedObject.apiVersion=v1,involvedObject.kind=Pod,involvedObject.name=db-0,reason=ForceDeleted';
    const answer = api.ask('GET', `${EVENTS}?fieldSelector=${encodeURIComponent(about)}`);
    expect(answer.body).toMatchObject({
      kind: 'EventList',
      apiVersion: 'v1',
      items: [{ involvedObject: { name: 'db-0' }, message: 'was deleted', count: 1, reason: 'ForceDeleted' }],
    });
    expect(answer.body.items).toHaveLength(1);
  });

  it('are rejected like the newer ones', () => {
    expect(api.ask('GET', `${EVENTS}?fieldSelector=involvedObject.color%3Dred`).status).toBe(400);
    expect(api.ask('GET', EVENTS, { token: 'nobody' }).status).toBe(401);
  });
});

describe('a body in protobuf', () => {
  let apiServer: KubernetesServer;
  let agent: Agent;

  beforeEach(async () => {
    apiServer = await openKubernetesServer(api.server);
    agent = new Agent({ connect: { ca: apiServer.caData } });
  });
  afterEach(async () => {
    await agent.close();
    await apiServer.close();
  });

  const send = async (method: 'POST' | 'DELETE', path: string, sent: string) => {
    const headers = {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      'content-type': 'application/vnd.kubernetes.protobuf',
    };
    const { statusCode, body: answer } = await request(`${apiServer.url}${path}`, {
      method,
      headers,
      body: Buffer.from(sent, 'base64'),
      dispatcher: agent,
    });
    return { status: statusCode, body: await answer.json() };
  };

  it('of `kubectl auth can-i delete pods` is read', async () => {
    const sent = [
      'azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPwoQCgASABoAIgAqADIAOABCABIhCh8K',
      'B2RlZmF1bHQSBmRlbGV0ZRoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA=',
    ].join('');
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    expect(await send('POST', path, sent)).toMatchObject({
      status: 201,
      body: {
        spec: { resourceAttributes: { verb: 'delete', resource: 'pods', namespace: 'default' } },
        status: { allowed: true },
      },
    });
  });

  it('of `kubectl drain --disable-eviction --grace-period=200` is read', async () => {
    expect(await send('DELETE', `${PODS}/db-0`, 'azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxIDCMgBGgAiAA==')).toMatchObject({
      status: 200,
      body: { metadata: { deletionGracePeriodSeconds: 200 } },
    });
  });

  it('of `kubectl create configmap` is read, as in the runbook’s pause', async () => {
    const sent =
      'azhzAAoPCgJ2MRIJQ29uZmlnTWFwEkAKJQoKY2xvdWRmZW5jZRIAGgtrdWJlLXN5c3RlbSIAKgAyADgAQgASBgoBYhIBYxIPCgVwYXVzZRIGdGVzdCB4GgAiAA==';
    expect(await send('POST', '/api/v1/namespaces/kube-system/configmaps', sent)).toMatchObject({
      status: 201,
      body: { metadata: { name: 'cloudfence' }, data: { pause: 'test x', b: 'c' } },
    });
  });

  it('of another kind is rejected', async () => {
    expect(await send('POST', PODS, Buffer.from('k8s\0').toString('base64'))).toMatchObject({ status: 400 });
  });
});
