import { beforeEach, describe, expect, it } from 'vitest';
import { MERGE, METADATA, freshApi } from './api-client.ts';

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

it('a patch is answered with only the metadata if the client requests no more', () => {
  const body = { metadata: { annotations: { a: '2' } } };
  const answer = api.ask('PATCH', NODE, { headers: { ...MERGE, ...METADATA }, body });
  const { metadata } = api.ask('GET', NODE).body;
  expect(answer.body).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
  expect(metadata.annotations).toEqual({ a: '2' });
  expect(api.ask('PATCH', NODE, { headers: { ...MERGE, ...METADATA }, body }).body).toEqual(answer.body);
});

describe('a JSON Patch', () => {
  it('is applied as a whole, including tests of the status', () => {
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

  it('cannot fill the annotations beyond their limit, and says which field is too long', () => {
    const fill = (length: number) =>
      api.ask('PATCH', NODE, {
        body: [{ op: 'add', path: '/metadata/annotations', value: { full: 'é'.repeat(length) } }],
      });
    expect(fill(128 * 1024 - 2).status).toBe(200);
    const answer = fill(128 * 1024 - 1);
    expect(answer.status).toBe(422);
    expect(answer.body.details?.causes).toEqual([
      {
        reason: 'FieldValueTooLong',
        message: 'Too long: may not be more than 262144 bytes',
        field: 'metadata.annotations',
      },
    ]);
  });

  it('of the main resource does not change the status, and one of the status does not change the spec', () => {
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

  it('with another uid is rejected', () => {
    const answer = api.ask('PATCH', NODE, {
      body: { metadata: { uid: 'another', annotations: { b: '3' } } },
      headers: MERGE,
    });
    expect(answer).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
    expect(api.ask('GET', NODE).body.metadata.annotations).toEqual({ a: '1' });
  });
});

describe('a strategic merge patch, as kubectl sends it,', () => {
  const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' };
  const patched = (body: unknown, path = NODE) => api.ask('PATCH', path, { body, headers: STRATEGIC });

  it('replaces all taints (kubectl taint), and removes them', () => {
    const other = { key: 'other', effect: 'NoExecute' };
    expect(patched({ spec: { taints: [other] } }).body.spec.taints).toEqual([other]);
    expect(patched({ spec: { taints: null } }).body.spec.taints).toBeUndefined();
  });

  it('changes one field of the spec (kubectl cordon, uncordon)', () => {
    expect(patched({ spec: { unschedulable: true } }).body.spec).toMatchObject({ unschedulable: true });
    expect(patched({ spec: { unschedulable: null } }).body.spec).not.toHaveProperty('unschedulable');
    expect(api.ask('GET', NODE).body.spec.taints?.map(({ key }) => key)).toContain('k');
  });

  it('merges a list by the key of its elements (kubectl patch, set image)', () => {
    const containers = [
      { name: 'a', image: 'a:1' },
      { name: 'b', image: 'b:1' },
    ];
    const volumes = [{ name: 'v', emptyDir: {} }];
    const body = { metadata: { name: 'p' }, spec: { containers, volumes } };
    api.ask('POST', '/api/v1/namespaces/default/pods', { body });
    const answer = patched(
      {
        metadata: { finalizers: ['one'] },
        spec: {
          '$setElementOrder/containers': [{ name: 'b' }],
          containers: [
            { name: 'b', image: 'b:2' },
            { $patch: 'delete', name: 'a' },
            { name: 'c', image: 'c:1' },
          ],
          volumes: [{ $retainKeys: ['name', 'hostPath'], name: 'v', hostPath: { path: '/' } }],
        },
      },
      '/api/v1/namespaces/default/pods/p',
    );
    expect(answer.body.spec).toMatchObject({
      containers: [
        { name: 'b', image: 'b:2' },
        { name: 'c', image: 'c:1' },
      ],
      volumes: [{ name: 'v', hostPath: { path: '/' } }],
    });
    expect(JSON.stringify(answer.body)).not.toContain('$');
    expect(answer.body.spec).not.toHaveProperty('volumes.0.emptyDir');
  });

  it('adds to a list of words (finalizers), removes from it, and replaces what it says to replace', () => {
    patched({ metadata: { finalizers: ['one'] } });
    patched({ metadata: { finalizers: ['two'] } });
    expect(api.ask('GET', NODE).body.metadata).toMatchObject({ finalizers: ['one', 'two'] });
    patched({
      metadata: { '$deleteFromPrimitiveList/finalizers': ['one'], annotations: { $patch: 'replace', only: 'this' } },
    });
    expect(api.ask('GET', NODE).body.metadata).toMatchObject({ finalizers: ['two'], annotations: { only: 'this' } });
    expect(api.ask('GET', NODE).body.metadata.annotations).toEqual({ only: 'this' });
  });
});

it('a patch in another format is rejected', () => {
  const answer = api.ask('PATCH', NODE, { body: {}, headers: { 'content-type': 'application/apply-patch+yaml' } });
  expect(answer).toMatchObject({ status: 415, body: { reason: 'UnsupportedMediaType' } });
});
