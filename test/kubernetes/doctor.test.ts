import { describe, expect, it } from 'vitest';
import { openConnection } from '../../kubernetes/cluster.ts';
import { createDoctor, versionOf } from '../../kubernetes/doctor.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import type { ApiServer } from '../../sandbox/cluster/api/server.ts';
import { adminOf, FENCE_TOKEN, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { queryFor, makeNode, unhurried } from '../contract/cluster/harness.ts';
import { clusterOver, patientClock } from './wire.ts';

const doctorFor = (server: ApiServer) =>
  createDoctor(
    openConnection({ name: 'c', link: transportLink(inProcess(server), FENCE_TOKEN), clock: patientClock() }),
    {
      unverified: () => false,
    },
  );

describe('the doctor', () => {
  it('finds every permission granted to an identity that has them', async () => {
    const permissions = await doctorFor(sandboxServer()).permissions(unhurried());
    expect(permissions.length).toBeGreaterThan(15);
    expect(permissions.filter(({ allowed }) => !allowed)).toEqual([]);
  });

  it('names a missing permission', async () => {
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }];
    const permissions = await doctorFor(
      sandboxServer({ users: { [FENCE_TOKEN]: { name: 'poor', rules } } }),
    ).permissions(unhurried());
    const missing = permissions
      .filter(({ allowed }) => !allowed)
      .map(({ verb, resource, subresource }) => `${verb} ${resource}${subresource ? `/${subresource}` : ''}`);
    expect(missing).toEqual([
      'patch nodes',
      'delete nodes',
      'delete pods',
      'patch pods/status',
      'patch configmaps',
      'patch volumeattachments',
      'delete volumeattachments',
      'create events',
    ]);
  });

  it('counts a permission as missing if the API server does not say that it is allowed', async () => {
    const review = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec: {} };
    const headers = { 'content-type': 'application/json' };
    const link = transportLink(async () => ({ status: 201, headers, body: JSON.stringify(review) }), FENCE_TOKEN);
    const connection = openConnection({ name: 'c', link, clock: patientClock() });
    const permissions = await createDoctor(connection, { unverified: () => false }).permissions(unhurried());
    expect(new Set(permissions.map(({ allowed }) => allowed))).toEqual(new Set([false]));
  });

  it('names each permission that a diagnosis lacks', async () => {
    const rules = [
      { apiGroups: ['', 'storage.k8s.io', 'coordination.k8s.io'], resources: ['*'], verbs: ['get', 'list'] },
    ];
    const permissions = await doctorFor(
      sandboxServer({ users: { [FENCE_TOKEN]: { name: 'poor', rules } } }),
    ).diagnosisPermissions(unhurried());
    const missing = permissions.filter(({ allowed }) => !allowed).map(({ verb, resource }) => `${verb} ${resource}`);
    expect(missing).toEqual([
      'list events',
      'get deployments',
      'get replicasets',
      'list statefulsets',
      'list deployments',
      'list jobs',
    ]);
  });

  it('reads the identity of every Node page by page', async () => {
    const server = sandboxServer();
    const clock = patientClock();
    const stage = { cluster: clusterOver(inProcess(server), clock), admin: adminOf(server), now: clock.now };
    for (let node = 0; node < 501; node += 1) await makeNode(stage, { machine: `i-${node}` });
    const sizes: number[] = [];
    const machines = new Set<string>();
    for await (const page of doctorFor(server).identities(unhurried())) {
      sizes.push(page.length);
      for (const { identitySources } of page) machines.add(identitySources[0]?.value ?? '');
    }
    expect([sizes, machines.size]).toEqual([[500, 1], 501]);
    expect(await stage.cluster.find(queryFor('i-500'), unhurried())).toHaveLength(1);
  });
});

describe('a server version', () => {
  it.each([
    ['v1.36.3', true],
    ['v1.26.0', true],
    ['v1.25.16-eks-1', false],
    ['v2.0.0', true],
    ['1.33.4-gke.1', true],
    ['unreadable', false],
  ])('%s supports the out-of-service taint: %s', (gitVersion, taintSupported) => {
    expect(versionOf(gitVersion)).toEqual({ text: gitVersion, taintSupported });
  });

  it('is requested again only after an hour', async () => {
    const server = { ...sandboxServer({ version: 'v1.25.0' }) };
    const clock = patientClock();
    let version = 'v1.25.0';
    const cluster = clusterOver((request, signal) => inProcess({ ...server, version })(request, signal), clock);
    const supported = async () =>
      (await cluster.look({ query: queryFor('i-1'), node: null, remembered: null, successorsOf: [] }, unhurried()))
        .taintSupported;
    expect(await supported()).toBe(false);
    version = 'v1.26.0';
    expect(await supported()).toBe(false);
    await clock.sleep(3_600_000, unhurried());
    expect(await supported()).toBe(true);
  });
});
