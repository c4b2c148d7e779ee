import { describe, expect, it } from 'vitest';
import { freshApi } from './api-client.ts';

const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const event = {
  metadata: { generateName: 'cloudfence-' },
  eventTime: '2026-11-21T10:00:00.000000Z',
  reportingController: 'cloudfence.dev',
  reportingInstance: 'cloudfence',
  action: 'Fence',
  reason: 'Fenced',
  type: 'Normal',
  note: 'done',
  regarding: { kind: 'Node', name: 'n1' },
};

describe('the creation of', () => {
  it('an object with a taken name is a conflict', () => {
    const { ask } = freshApi();
    ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } });
    expect(ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })).toMatchObject({
      status: 409,
      body: { reason: 'AlreadyExists', message: 'nodes "n1" already exists' },
    });
  });

  it('a Node adds the not-ready taint to the Node’s own taints', () => {
    const { ask } = freshApi();
    const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
    const own = { key: 'k', value: 'v', effect: 'NoSchedule' };
    const taints = (name: string, spec?: object) =>
      ask('POST', '/api/v1/nodes', { body: { metadata: { name }, ...(spec && { spec }) } }).body.spec.taints;
    expect(taints('n1')).toEqual([notReady]);
    expect(taints('n2', { taints: [own] })).toEqual([own, notReady]);
    expect(taints('n3', { taints: [notReady] })).toEqual([notReady]);
  });

  it('two events with one generateName gives them two names', () => {
    const { ask } = freshApi();
    const names = [1, 2].map(() => ask('POST', EVENTS, { body: event }).body.metadata.name);
    expect(new Set(names).size).toBe(2);
    expect(names.every((name) => /^cloudfence-[0-9a-z]{5}$/.test(name))).toBe(true);
  });

  it.each([
    ['without an action', { ...event, action: '' }, 'action'],
    ['with a note that is too long', { ...event, note: 'x'.repeat(1025) }, 'note'],
    [
      'about an object of another namespace',
      { ...event, regarding: { kind: 'Pod', name: 'p', namespace: 'web' } },
      'regarding.namespace',
    ],
  ])('an event %s is invalid', (_case, body, field) => {
    const answer = freshApi().ask('POST', EVENTS, { body });
    expect(answer.status).toBe(422);
    expect(answer.body.details?.causes?.map((cause) => cause.field)).toEqual([field]);
  });

  it('a pod ignores the status in the request', () => {
    const body = { metadata: { name: 'p' }, spec: { containers: [] }, status: { phase: 'Running' } };
    expect(freshApi().ask('POST', '/api/v1/namespaces/web/pods', { body }).body.status).toEqual({ phase: 'Pending' });
  });
});

describe('a path', () => {
  it.each([
    ['GET', '/apis/apps/v1/namespaces/web/deployments', 200],
    ['GET', '/apis/batch/v1/jobs', 200],
    ['GET', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', 200],
    ['GET', '/apis/apps/v1/pods', 404],
    ['GET', '/api/v1/pods/p', 404],
    ['GET', '/api/v1/namespaces/web/nodes/n1', 404],
    ['GET', '/favicon.ico', 404],
    ['PUT', '/api/v1/nodes/n1', 405],
    ['DELETE', '/api/v1/nodes', 405],
  ])('%s %s answers %i', (method, path, status) => {
    expect(freshApi().ask(method, path).status).toBe(status);
  });
});
