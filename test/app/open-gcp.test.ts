import { afterAll, expect, it } from 'vitest';
import { openGceServer } from '../../sandbox/gce/gce-server.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { addDisk, addInstance } from '../../sandbox/gce/scenario.ts';
import { openGcp } from '../../providers/gcp/plugin/open.ts';
import { gceWorld, patient, requestIds } from '../sandbox/gce/gce-world.ts';

const world = gceWorld();
const machine = addInstance(world);
const gceServer = await openGceServer(world);
afterAll(gceServer.close);

const kit = await openGcp({ endpoint: gceServer.url, newRequestId: requestIds() });

it('looks at machines at another endpoint, and reads their events', async () => {
  expect(await kit.cloud.look([machine], { disks: false }, patient())).toMatchObject([{ machine, power: 'running' }]);
  expect(kit.readHints({ instance: machine })).toMatchObject({ hints: [{ machine }] });
});

it('reports what it knows about its credentials', async () => {
  expect(await Promise.all(kit.probes.map(({ ask }) => ask(patient())))).toEqual([
    expect.stringMatching(/^Cloudfence uses no credentials over plain HTTP; whether/),
  ]);
});

it('checks each project by one of its machines once one is known', async () => {
  const probes = (await kit.probesOfMachines?.([machine, machine])) ?? [];
  expect(probes.map(({ where }) => where)).toEqual(['gcp my-project']);
  expect(await probes[0]?.ask(patient())).toMatch(/and its disks \(running\)/);
});

it('asks which calls it may make on a machine and its disk', async () => {
  const holder = addInstance(world);
  const disk = addDisk(world, {}, { instance: holder });
  const orders = async () =>
    (await kit.probesOfMachines?.([holder]))?.[0]?.destructiveCalls(
      { policy: { ...defaultPolicy, unreachable: 'power-off' }, machines: [holder] },
      patient(),
    );
  expect(await orders()).toEqual([
    {
      what: 'may detach disks and power off machines',
      verdict: 'ok',
      says: `Compute Engine would allow compute.instances.detachDisk, compute.instances.stop; checked on ${holder}`,
    },
  ]);
  world.parts.gce.knobs.missingPermissions = ['compute.instances.stop', 'compute.disks.use'];
  expect(await orders()).toMatchObject([
    {
      verdict: 'fail',
      says: expect.stringContaining(`do not have compute.instances.stop on ${holder}; compute.disks.use on ${disk}`),
    },
  ]);
});
