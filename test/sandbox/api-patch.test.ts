import { beforeEach, describe, expect, it } from 'vitest';
import { MERGE, freshApi } from './api-client.ts';

const NODE = '/api/v1/nodes/n1';
const taint = { key: 'k', value: 'v', effect: 'NoSchedule' };
let api: ReturnType<typeof freshApi>;

beforeEach(() => {
  api = freshApi();
  const status = { nodeInfo: { bootID: 'boot-1' } };
  api.ask('POST', '/api/v1/nodes', {
    body: { metadata: { name: 'n1', annotations: { a: '1' } }, spec: { taints: [taint] }, status },
  });
});

describe('a JSON Patch', () => {
  it('is applied as a whole, including tests on the status', () => {
    const uid = api.ask('GET', NODE).body.metadata.uid;
    const answer = api.ask('PATCH', NODE, {
      body: [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: '/status/nodeInfo/bootID', value: 'boot-1' },
        { op: 'add', path: '/metadata/annotations/cloudfence.dev~1fence', value: 'x' },
        { op: 'add', path: '/spec/taints/-', value: { key: 'other', effect: 'NoSchedule' } },
      ],
    });
    expect(answer.status).toBe(200);
    expect(answer.body.spec.taints?.map(({ key }) => key)).toEqual(['k', 'node.kubernetes.io/not-ready', 'other']);
    expect(api.ask('GET', NODE).body.metadata.annotations).toEqual({ a: '1', 'cloudfence.dev/fence': 'x' });
  });

  it.each([
    ['a test fails', { op: 'test', path: '/metadata/uid', value: 'another' }],
    ['a tested path is missing', { op: 'test', path: '/metadata/labels/none', value: 'x' }],
    ['a removed path is missing', { op: 'remove', path: '/metadata/annotations/none' }],
    ['the parent of an added path is missing', { op: 'add', path: '/metadata/labels/new', value: 'x' }],
  ])('changes nothing and gives no reason if %s', (_case, operation) => {
    const before = api.ask('GET', NODE).body;
    const answer = api.ask('PATCH', NODE, {
      body: [{ op: 'add', path: '/spec/unschedulable', value: true }, operation],
    });
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
    });
    expect(answer.body.details?.causes).toBeUndefined();
    expect(api.ask('GET', NODE).body).toEqual(before);
  });

  it('cannot add a taint twice, and says why', () => {
    const answer = api.ask('PATCH', NODE, {
      body: [{ op: 'add', path: '/spec/taints/-', value: { ...taint, value: 'other' } }],
    });
    expect(answer.status).toBe(422);
    expect(answer.body.details?.causes?.[0]).toMatchObject({
      reason: 'FieldValueDuplicate',
      field: 'metadata.taints[2]',
    });
    expect(answer.body.message).toContain('taints must be unique by key and effect pair');
  });

  it('of the main resource leaves the status alone, and one of the status leaves the spec alone', () => {
    api.ask('PATCH', NODE, { body: [{ op: 'replace', path: '/status/nodeInfo/bootID', value: 'boot-2' }] });
    expect(api.ask('GET', NODE).body.status).toEqual({ nodeInfo: { bootID: 'boot-1' } });
    api.ask('PATCH', `${NODE}/status`, {
      body: [
        { op: 'add', path: '/spec/unschedulable', value: true },
        { op: 'add', path: '/status/phase', value: 'Running' },
      ],
    });
    expect(api.ask('GET', NODE).body.spec.unschedulable).toBeUndefined();
    expect(api.ask('GET', NODE).body.status.phase).toBe('Running');
  });

  it('without changes writes nothing', () => {
    const { resourceVersion } = api.ask('GET', NODE).body.metadata;
    const answer = api.ask('PATCH', NODE, { body: [{ op: 'add', path: '/metadata/annotations/a', value: '1' }] });
    expect(answer).toMatchObject({ status: 200, body: { metadata: { resourceVersion } } });
  });
});

describe('a merge patch', () => {
  it('adds, replaces, and removes', () => {
    const answer = api.ask('PATCH', NODE, { body: { metadata: { annotations: { a: null, b: '2' } } }, headers: MERGE });
    expect(answer.body.metadata.annotations).toEqual({ b: '2' });
  });

  it('with an old resourceVersion is a conflict', () => {
    const old = api.ask('GET', NODE).body.metadata.resourceVersion;
    api.ask('PATCH', NODE, { body: { metadata: { annotations: { b: '2' } } }, headers: MERGE });
    const answer = api.ask('PATCH', NODE, {
      body: { metadata: { resourceVersion: old, annotations: { b: '3' } } },
      headers: MERGE,
    });
    expect(answer).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on nodes "n1": the object has been modified; please apply your changes to the latest version and try again',
      },
    });
    expect(api.ask('GET', NODE).body.metadata.annotations).toEqual({ a: '1', b: '2' });
  });

  it('with another uid is refused', () => {
    const answer = api.ask('PATCH', NODE, {
      body: { metadata: { uid: 'another', annotations: { b: '3' } } },
      headers: MERGE,
    });
    expect(answer).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
    expect(api.ask('GET', NODE).body.metadata.annotations).toEqual({ a: '1' });
  });
});

it('a strategic merge patch is not supported', () => {
  const answer = api.ask('PATCH', NODE, {
    body: {},
    headers: { 'content-type': 'application/strategic-merge-patch+json' },
  });
  expect(answer).toMatchObject({ status: 415, body: { reason: 'UnsupportedMediaType' } });
});
