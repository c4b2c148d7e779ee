import { describe, expect, it } from 'vitest';
import type { ApiUser } from '../../sandbox/cluster/api/server.ts';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import { freshApi } from './api-client.ts';

const fence: ApiUser = {
  name: 'cloudfence',
  rules: [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'patch'] },
    { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] },
    {
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['get'],
      resourceNames: ['cloudfence'],
      namespaces: ['kube-system'],
    },
  ],
};
const users = {
  [ADMIN_TOKEN]: { name: 'admin', rules: 'all' },
  fence,
  newcomer: { name: 'newcomer', rules: [] },
} as const;

describe('a bearer token', () => {
  it('that is unknown is unauthorized', () => {
    expect(freshApi({ users }).ask('GET', '/api/v1/nodes', { token: 'stolen' })).toMatchObject({
      status: 401,
      body: { reason: 'Unauthorized' },
    });
  });

  it('is not needed for the version and the probes', () => {
    const { ask } = freshApi({ version: 'v1.27.3' });
    expect(ask('GET', '/version', { token: 'none' }).body).toMatchObject({
      major: '1',
      minor: '27',
      gitVersion: 'v1.27.3',
    });
    expect(ask('GET', '/readyz', { token: 'none' }).status).toBe(200);
  });
});

describe('a user', () => {
  it.each([
    [
      'GET',
      '/api/v1/nodes/n1',
      'nodes "n1" is forbidden: User "newcomer" cannot get resource "nodes" in API group "" at the cluster scope',
      'newcomer',
    ],
    [
      'GET',
      '/api/v1/nodes',
      'nodes is forbidden: User "fence" cannot list resource "nodes" in API group "" at the cluster scope',
      'fence',
    ],
    [
      'DELETE',
      '/api/v1/namespaces/web/pods/p',
      'pods "p" is forbidden: User "fence" cannot delete resource "pods" in API group "" in the namespace "web"',
      'fence',
    ],
    [
      'PATCH',
      '/api/v1/nodes/n1/status',
      'nodes "n1" is forbidden: User "fence" cannot patch resource "nodes/status" in API group "" at the cluster scope',
      'fence',
    ],
    [
      'GET',
      '/api/v1/namespaces/web/configmaps/cloudfence',
      'configmaps "cloudfence" is forbidden: User "fence" cannot get resource "configmaps" in API group "" in the namespace "web"',
      'fence',
    ],
    [
      'GET',
      '/apis/storage.k8s.io/v1/volumeattachments',
      'volumeattachments.storage.k8s.io is forbidden: User "fence" cannot list resource "volumeattachments" in API group "storage.k8s.io" at the cluster scope',
      'fence',
    ],
  ])('without a rule for %s %s gets an explanation', (method, path, message, token) => {
    const { ask } = freshApi({ users: { ...users, fence: { ...fence, name: 'fence' } } });
    expect(ask(method, path, { token, body: {} })).toMatchObject({
      status: 403,
      body: { reason: 'Forbidden', message },
    });
  });

  it.each([
    ['GET', '/api/v1/nodes/n1'],
    ['PATCH', '/api/v1/namespaces/web/pods/p/status'],
    ['GET', '/api/v1/namespaces/kube-system/configmaps/cloudfence'],
  ])('with a rule for %s %s is allowed', (method, path) => {
    expect(freshApi({ users }).ask(method, path, { token: 'fence', body: [] }).status).toBe(404);
  });

  it.each([
    [{ verb: 'patch', resource: 'nodes' }, true],
    [{ verb: 'patch', resource: 'pods', subresource: 'status', namespace: 'web' }, true],
    [{ verb: 'delete', resource: 'pods', namespace: 'web' }, false],
    [{ verb: 'get', resource: 'configmaps', name: 'cloudfence', namespace: 'kube-system' }, true],
    [{ verb: 'get', resource: 'configmaps', name: 'other', namespace: 'kube-system' }, false],
  ])('that asks whether it may %j gets the answer %s', (resourceAttributes, allowed) => {
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const answer = freshApi({ users }).ask('POST', path, { token: 'fence', body: { spec: { resourceAttributes } } });
    expect(answer).toMatchObject({ status: 201, body: { status: { allowed } } });
  });
});

describe('an injected fault', () => {
  it('before the effect replaces the answer of the server', () => {
    const tooMany = { status: 429, headers: { 'retry-after': '1' }, body: '{}' };
    const { ask, store } = freshApi({ faults: { before: () => tooMany } });
    expect(ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
    });
    expect(store.list('nodes')).toEqual([]);
  });

  it('after the effect hides the answer of the server', () => {
    const { ask, store } = freshApi({ faults: { after: () => 'drop' } });
    expect(() => ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })).toThrow('dropped');
    expect(store.list('nodes')).toHaveLength(1);
  });
});
