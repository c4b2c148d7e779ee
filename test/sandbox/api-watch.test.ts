import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import { openWatch } from '../../sandbox/cluster/api/watch.ts';
import { freshApi } from './api-client.ts';

const PODS = '/api/v1/namespaces/default/pods';
let api: ReturnType<typeof freshApi>;

beforeEach(() => {
  api = freshApi({ users: { [ADMIN_TOKEN]: { name: 'admin', rules: 'all' }, none: { name: 'none', rules: [] } } });
});

const create = (name: string) =>
  api.ask('POST', PODS, { body: { metadata: { name }, spec: { containers: [{ name: 'main' }] } } });

const open = (query: string, { token = ADMIN_TOKEN, accept = 'application/json', method = 'GET' } = {}) =>
  openWatch(api.server, {
    method,
    path: `${PODS}?${query}`,
    headers: { authorization: `Bearer ${token}`, accept },
    body: '',
  });

const event = z.object({
  type: z.string(),
  object: z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string().optional() }) }),
});

const received = (watch: ReturnType<typeof open>): readonly string[] =>
  (watch?.next() ?? ['no watch'])
    .map((line) => event.parse(JSON.parse(line)))
    .map(({ type, object }) => `${type} ${object.metadata.name ?? object.kind}`);

const newest = (): string => api.ask('GET', PODS).body.metadata.resourceVersion;

describe('a watch', () => {
  it('begins with what is newer than the list, and reports each change once', () => {
    create('old');
    const watch = open(`watch=true&resourceVersion=${newest()}`);
    create('new');
    expect(received(watch)).toEqual(['ADDED new']);
    api.ask('PATCH', `${PODS}/old`, { body: [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }] });
    api.ask('DELETE', `${PODS}/new`);
    expect(received(watch)).toEqual(['DELETED new', 'MODIFIED old']);
    expect(received(watch)).toEqual([]);
  });

  it('reports another object with the same name', () => {
    create('db-0');
    const watch = open(`watch=1&resourceVersion=${newest()}`);
    api.ask('DELETE', `${PODS}/db-0`);
    create('db-0');
    expect(received(watch)).toEqual(['DELETED db-0', 'ADDED db-0']);
  });

  it('begins with everything, and marks the end of that, if the client asks for the initial objects', () => {
    create('a');
    const watch = open(`watch=1&sendInitialEvents=true&resourceVersion=${newest()}&timeoutSeconds=7`);
    expect(received(watch)).toEqual(['ADDED a', 'BOOKMARK Pod']);
    expect(received(watch)).toEqual([]);
    expect(watch?.lasts).toBe(7_000);
  });

  it('reports only what its selector selects', () => {
    const watch = open('watch=1&fieldSelector=metadata.name%3Da');
    create('a');
    create('b');
    expect(received(watch)).toEqual(['ADDED a']);
  });

  it('reports in tables if kubectl asks for them', () => {
    create('a');
    const watch = open('watch=1', { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' });
    expect(watch?.next().map((line) => event.parse(JSON.parse(line)).object.kind)).toEqual(['Table']);
  });
});

it('is not opened for a list, for a write, or for a user without permission', () => {
  expect(open('resourceVersion=0')).toBeUndefined();
  expect(open('watch=1', { method: 'DELETE' })).toBeUndefined();
  expect(open('watch=1', { token: 'none' })).toBeUndefined();
  expect(open('watch=1', { token: 'unknown' })).toBeUndefined();
});
