import { expect, it } from 'vitest';
import type { IdentitySource } from '../../fencing/model/machine.ts';
import { UNINITIALIZED } from '../../kubernetes/names.ts';
import { LEASES, made, makeNode, queryFor, unhurried } from '../contract/cluster/harness.ts';
import { faultyCluster } from './wire.ts';

/** What a survey concludes at its limits, and from a Node that does not say which machine it is. */

const MACHINE = 'i-asked';
const SILENT_AFTER = 60_000;

const surveyed = async (stage: ReturnType<typeof faultyCluster>, node: string) =>
  stage.cluster.surveyConnectivity(node, SILENT_AFTER, queryFor(MACHINE), unhurried());

it.each([
  ['renewed exactly that long ago', -SILENT_AFTER, []],
  ['renewed a moment earlier', -SILENT_AFTER - 1, ['other']],
  ['a minute ahead, by a clock that is a little fast', 60_000, []],
  ['further ahead, because its clock is wrong', 60_001, ['other']],
])('a Lease %s: unreachable is %j', async (_, ago, unreachable) => {
  const stage = faultyCluster({});
  await makeNode(stage, { name: 'node' });
  await makeNode(stage, { name: 'other' });
  await made(stage, LEASES, { metadata: { name: 'other' }, spec: { renewTime: new Date(stage.now() + ago) } });
  expect((await surveyed(stage, 'node')).unreachable).toEqual(unreachable);
});

const nodeIds = (value: string) => ({
  annotations: { 'csi.volume.kubernetes.io/nodeid': JSON.stringify({ 'a-driver': value }) },
});

it.each([
  ['is not initialized, and names nothing', {}, true, true],
  ['is not initialized, and names no machine of this cloud', nodeIds('elsewhere'), true, true],
  ['is not initialized, and names another machine', nodeIds('i-other'), true, false],
  ['is initialized, and names nothing', {}, false, false],
])('may belong to the machine: a Node that %s', async (_, metadata, uninitialized, may) => {
  const stage = faultyCluster({});
  const taints = uninitialized ? [{ key: UNINITIALIZED, value: 'true', effect: 'NoSchedule' }] : [];
  const status = { nodeInfo: { bootID: 'boot-1', systemUUID: 'a-uuid' } };
  await makeNode(stage, { name: 'other', metadata, spec: { providerID: undefined, taints }, status });
  expect((await surveyed(stage, 'node')).nodesNamingMachine).toEqual(may ? ['other'] : []);
});

it('a Node may belong to the machine only if all its sources are silent', async () => {
  const stage = faultyCluster({});
  const named = ({ value }: IdentitySource): string | null => (value === 'i-other' ? value : null);
  const taints = [{ key: UNINITIALIZED, value: 'true', effect: 'NoSchedule' }];
  await makeNode(stage, { name: 'other', spec: { providerID: 'strange', taints }, metadata: nodeIds('i-other') });
  const machine = { machine: MACHINE, machineOf: named };
  const found = await stage.cluster.surveyConnectivity('node', SILENT_AFTER, machine, unhurried());
  expect(found.nodesNamingMachine).toEqual([]);
});
