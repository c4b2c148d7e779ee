import { expect, it } from 'vitest';
import { doctor } from '../../functions/doctor.ts';
import { clusterOf, connectionOf } from '../../kubernetes/cluster.ts';
import { capDeskOf } from '../../kubernetes/cap-desk.ts';
import { doctorOf } from '../../kubernetes/doctor.ts';
import { apiOf } from '../../sandbox/aws-sandbox.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { fence } from '../simulation/ends.ts';
import { stopped } from '../simulation/incidents.ts';
import { installOver } from './install.ts';

const diagnosed = () => {
  const { world, scene } = stopped();
  const install = installOver(world);
  const cluster = clusterIn(world, apiOf(world));
  const opened = [{ cluster: clusterOf(cluster), doctor: async () => doctorOf(connectionOf(cluster)), cap: async () => capDeskOf(connectionOf(cluster)), open: async () => undefined, close: async () => undefined }];
  const nothing = () => Promise.reject(new Error('not asked'));
  const kit = { cloud: install.wiring.ports.cloud, probes: [{ where: 'aws', ask: async () => 'EC2 answers' }], readHints: () => ({ hints: [], faults: [], asides: [] }), access: { managedCluster: nothing, secret: nothing, parameter: nothing } };
  return { world, scene, ask: (question: unknown) => doctor(async () => ({ ...install.wiring, kit, opened }))(question) };
};

it('checks from inside the function', async () => {
  const { ask } = diagnosed();
  const answer = await ask({});
  expect(answer).toMatchObject({ checks: expect.arrayContaining([{ what: 'aws: credentials and API access', ok: true, says: 'EC2 answers' }, expect.objectContaining({ what: 'sandbox: may patch nodes', ok: true })]) });
});

it('names the mend when there is no ledger in which fences are counted', async () => {
  const { ask, world } = diagnosed();
  delete world.parts.cluster.objects.configmaps['kube-system/cloudfence-ledger'];
  expect(await ask({})).toMatchObject({ checks: expect.arrayContaining([{ what: 'sandbox: the ledger of fences', ok: false, says: expect.stringContaining('apply infra/kubernetes/rbac.yaml') }]) });
});

it('lists the fences that stand, which a removal asks for first', async () => {
  const { ask, world, scene } = diagnosed();
  expect(await ask({ question: 'fences' })).toEqual({ fences: [] });
  await fence({ world, scene });
  expect(await ask({ question: 'fences' })).toEqual({ fences: [{ cluster: 'sandbox', node: scene.nodeOf(scene.holder), instance: scene.holder }] });
});

it('refuses a question that it does not know', async () => {
  await expect(diagnosed().ask({ question: 'why' })).rejects.toThrow(/question is not understood/);
});
