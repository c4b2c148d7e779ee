import { beforeEach, describe, expect, it } from 'vitest';
import { freshApi } from './api-client.ts';

const POD = '/api/v1/namespaces/web/pods/db-0';
let api: ReturnType<typeof freshApi>;

const createPod = (traits: { finalizers?: string[]; nodeName?: string } = {}) =>
  api.ask('POST', '/api/v1/namespaces/web/pods', {
    body: {
      metadata: { name: 'db-0', ...(traits.finalizers && { finalizers: traits.finalizers }) },
      spec: { nodeName: traits.nodeName ?? 'n1', containers: [{ name: 'db' }] },
    },
  }).body.metadata;

beforeEach(() => {
  api = freshApi();
});

describe('deleting a pod', () => {
  it('keeps it for its grace period, which a second delete can only shorten', () => {
    createPod();
    expect(api.ask('DELETE', POD).body.metadata.deletionTimestamp).toBe('2026-11-21T10:00:30Z');
    api.ask('DELETE', `${POD}?gracePeriodSeconds=60`);
    expect(api.ask('GET', POD).body.metadata.deletionTimestamp).toBe('2026-11-21T10:00:30Z');
    api.ask('DELETE', `${POD}?gracePeriodSeconds=10`);
    expect(api.ask('GET', POD).body.metadata.deletionTimestamp).toBe('2026-11-21T10:00:10Z');
    api.ask('DELETE', POD, { body: { gracePeriodSeconds: 0 } });
    expect(api.ask('GET', POD).status).toBe(404);
  });

  it('reads no grace period from the query if there is a body', () => {
    const { uid } = createPod();
    api.ask('DELETE', `${POD}?gracePeriodSeconds=0`, { body: { preconditions: { uid } } });
    expect(api.ask('GET', POD).body.metadata.deletionTimestamp).toBe('2026-11-21T10:00:30Z');
  });

  it('with grace period 0 still waits for its finalizers', () => {
    createPod({ finalizers: ['batch.kubernetes.io/job-tracking'] });
    api.ask('DELETE', `${POD}?gracePeriodSeconds=0`);
    expect(api.ask('GET', POD).body.metadata.deletionTimestamp).toBeDefined();
    api.ask('PATCH', POD, { body: [{ op: 'remove', path: '/metadata/finalizers/0' }] });
    expect(api.ask('GET', POD).status).toBe(404);
  });

  it('that runs nowhere removes it at once', () => {
    createPod({ nodeName: '' });
    api.ask('DELETE', POD);
    expect(api.ask('GET', POD).status).toBe(404);
  });

  it('with another uid is a conflict, in the words of Kubernetes', () => {
    const { uid } = createPod();
    const answer = api.ask('DELETE', POD, { body: { preconditions: { uid: 'old' } } });
    expect(answer.status).toBe(409);
    expect(answer.body.message).toBe(
      `Operation cannot be fulfilled on Pod "db-0": the UID in the precondition (old) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
    expect(api.ask('GET', POD).body.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe('deleting a Node', () => {
  it('with an old resourceVersion is a conflict', () => {
    const { uid, resourceVersion } = api.ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } }).body
      .metadata;
    api.ask('PATCH', '/api/v1/nodes/n1', { body: [{ op: 'add', path: '/spec/unschedulable', value: true }] });
    const stale = api.ask('DELETE', '/api/v1/nodes/n1', { body: { preconditions: { uid, resourceVersion } } });
    expect(stale).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    expect(api.ask('GET', '/api/v1/nodes/n1').status).toBe(200);
  });

  it('answers with a Status, or with a 404 if it is gone', () => {
    api.ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } });
    expect(api.ask('DELETE', '/api/v1/nodes/n1').body).toMatchObject({ kind: 'Status', status: 'Success' });
    expect(api.ask('DELETE', '/api/v1/nodes/n1')).toMatchObject({
      status: 404,
      body: { reason: 'NotFound', message: 'nodes "n1" not found', details: { name: 'n1', kind: 'nodes' } },
    });
  });
});

it('names the group of a missing volume attachment', () => {
  expect(api.ask('GET', '/apis/storage.k8s.io/v1/volumeattachments/csi-1').body).toMatchObject({
    message: 'volumeattachments.storage.k8s.io "csi-1" not found',
    details: { name: 'csi-1', group: 'storage.k8s.io', kind: 'volumeattachments' },
  });
});

it('an accepted write is reported to listeners, and a rejected one is not', () => {
  const heard: string[] = [];
  api = freshApi({ onWrite: (resource, { metadata }) => void heard.push(`${resource} ${metadata.name}`) });
  createPod();
  createPod();
  api.ask('DELETE', POD, { body: { preconditions: { uid: 'old' } } });
  api.ask('DELETE', `${POD}?gracePeriodSeconds=0`);
  expect(heard).toEqual(['pods db-0', 'pods db-0']);
});
