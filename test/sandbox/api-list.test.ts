import { beforeEach, describe, expect, it } from 'vitest';
import { METADATA_LIST, freshApi } from './api-client.ts';

let api: ReturnType<typeof freshApi>;
const namesAt = (path: string): readonly string[] =>
  api.ask('GET', path).body.items.map(({ metadata }) => metadata.name);

const pod = (name: string, nodeName: string, labels: Record<string, string>) => ({
  metadata: { name, labels },
  spec: { nodeName, containers: [{ name: 'main' }] },
});

beforeEach(() => {
  api = freshApi();
  api.ask('POST', '/api/v1/namespaces/web/pods', { body: pod('front', 'n1', { app: 'shop', tier: 'front' }) });
  api.ask('POST', '/api/v1/namespaces/web/pods', { body: pod('back', 'n2', { app: 'shop', tier: 'back' }) });
  api.ask('POST', '/api/v1/namespaces/ops/pods', { body: pod('agent', 'n1', { app: 'agent' }) });
});

describe('a label selector', () => {
  it.each([
    ['app=shop', ['back', 'front']],
    ['app==shop,tier=front', ['front']],
    ['app!=shop', ['agent']],
    ['tier in (front, back)', ['back', 'front']],
    ['tier notin (front)', ['agent', 'back']],
    ['tier', ['back', 'front']],
    ['!tier', ['agent']],
    ['app in (shop),tier!=back', ['front']],
  ])('%s selects %j', (selector, names) => {
    expect([...namesAt(`/api/v1/pods?labelSelector=${encodeURIComponent(selector)}`)].sort()).toEqual(names);
  });

  it('that cannot be parsed is a bad request', () => {
    expect(api.ask('GET', '/api/v1/pods?labelSelector=a%20b%20c').status).toBe(400);
  });
});

describe('a field selector', () => {
  it.each([
    ['spec.nodeName=n1', ['agent', 'front']],
    ['spec.nodeName!=n1', ['back']],
    ['metadata.namespace=web,status.phase=Pending', ['back', 'front']],
    ['metadata.name=agent', ['agent']],
  ])('%s selects the pods %j', (selector, names) => {
    expect([...namesAt(`/api/v1/pods?fieldSelector=${selector}`)].sort()).toEqual(names);
  });

  it('selects nodes by whether they are unschedulable', () => {
    api.ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' }, spec: { unschedulable: true } } });
    api.ask('POST', '/api/v1/nodes', { body: { metadata: { name: 'n2' } } });
    expect(namesAt('/api/v1/nodes?fieldSelector=spec.unschedulable=true')).toEqual(['n1']);
    expect(namesAt('/api/v1/nodes?fieldSelector=metadata.name=n2')).toEqual(['n2']);
  });

  it.each([
    [
      '/apis/storage.k8s.io/v1/volumeattachments',
      'spec.nodeName',
      '"spec.nodeName" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
    ['/api/v1/nodes', 'spec.providerID', 'field label not supported: spec.providerID'],
  ])('on %s does not support %s', (path, field, message) => {
    expect(api.ask('GET', `${path}?fieldSelector=${field}=x`)).toMatchObject({
      status: 400,
      body: { reason: 'BadRequest', message },
    });
  });
});

describe('a list in pages', () => {
  it('continues where it stopped, and counts the rest', () => {
    const first = api.ask('GET', '/api/v1/pods?limit=2').body;
    const second = api.ask('GET', `/api/v1/pods?limit=2&continue=${first.metadata.continue}`).body;
    expect(first.metadata.remainingItemCount).toBe(1);
    expect([...first.items, ...second.items].map(({ metadata }) => metadata.name)).toEqual(['agent', 'back', 'front']);
    expect(second.metadata.continue).toBeUndefined();
  });

  it('does not count the rest if there is a selector', () => {
    const { metadata } = api.ask('GET', '/api/v1/pods?limit=1&labelSelector=app%3Dshop').body;
    expect(metadata.continue).toBeDefined();
    expect(metadata).not.toHaveProperty('remainingItemCount');
  });

  it('ignores the limit if it is served from the cache', () => {
    expect(api.ask('GET', '/api/v1/pods?limit=1&resourceVersion=0').body.items).toHaveLength(3);
  });

  it('expires', () => {
    const { continue: token } = api.ask('GET', '/api/v1/pods?limit=1').body.metadata;
    api.clock.now += 300_001;
    expect(api.ask('GET', `/api/v1/pods?limit=1&continue=${token}`)).toMatchObject({
      status: 410,
      body: { reason: 'Expired' },
    });
  });
});

describe('a list of metadata', () => {
  it('has no spec', () => {
    const { body } = api.ask('GET', '/api/v1/pods?limit=1', { headers: METADATA_LIST });
    expect(body.kind).toBe('PartialObjectMetadataList');
    expect(body.metadata.remainingItemCount).toBe(2);
    expect(body.items[0]).not.toHaveProperty('spec');
  });

  it('has null items if there are none, unlike a list of whole objects', () => {
    const path = '/api/v1/nodes?labelSelector=fenced%3Dtrue';
    expect(api.ask('GET', path, { headers: METADATA_LIST }).body.items).toBeNull();
    expect(api.ask('GET', path).body.items).toEqual([]);
  });
});
