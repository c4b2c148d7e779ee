import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients } from '../../../providers/gcp/client.ts';
import { addFault } from '../../../sandbox/gce/faults.ts';
import { openGceServer } from '../../../sandbox/gce/gce-server.ts';
import { inProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { addDisk, addInstance, stopGuest } from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn } from '../../../sandbox/gce/state.ts';
import { MINUTE, cloudOf, gceWorld, patient, requestIds } from './gce-world.ts';
import { granted } from '../../permits.ts';

describe('the servers of the sandbox’s Compute Engine', () => {
  it('answer the same on a socket as in the process, and count their requests', async () => {
    const world = gceWorld();
    const path = `/compute/v1/${addInstance(world)}`;
    const gceServer = await openGceServer(world);
    const wire = await (await fetch(gceServer.url + path)).text();
    const inside = await (await inProcessFetch(world)(`http://any${path}`)).text();
    const nowhere = await fetch(`${gceServer.url}/compute/v1/projects/my-project/zones/europe-west1-a/constructor/x`);
    const traffic = gceServer.traffic();
    await gceServer.close();
    expect(wire).toBe(inside);
    expect(nowhere.status).toBe(404);
    expect(traffic).toEqual({
      calls: { 'instances.get': 1, '': 1 },
      bytes: wire.length + (await nowhere.text()).length,
    });
  });

  it('break the connection as configured, and only as often as configured', async () => {
    const world = gceWorld();
    const url = `/compute/v1/${addInstance(world)}`;
    addFault(world.parts.gce, { method: 'instances.get', mishap: { kind: 'drop' } });
    const gceServer = await openGceServer(world);
    await expect(fetch(gceServer.url + url)).rejects.toThrow('fetch failed');
    expect((await fetch(gceServer.url + url)).status).toBe(200);
    await gceServer.close();
  });

  it('return the past or the present if the age of reads is random, the same for the same seed', async () => {
    const history = async (): Promise<readonly unknown[]> => {
      const world = gceWorld({ staleUpTo: 5_000, staleness: 'seeded' });
      const path = addInstance(world);
      stopGuest(world, path);
      world.advance(2_500);
      const seen: unknown[] = [];
      for (let n = 0; n < 20; n += 1)
        seen.push((await cloudOf(world).look([path], { disks: false }, patient()))[0]?.evidence['status']);
      return seen;
    };
    const first = await history();
    expect(new Set(first)).toEqual(new Set(['RUNNING', 'STOPPING']));
    expect(await history()).toEqual(first);
  });
});

it('a call over a real socket never takes effect if its caller gives up', async () => {
  const world = gceWorld();
  const machine = addInstance(world, { status: 'TERMINATED', guest: 'down' });
  const disk = addDisk(world, {}, { instance: machine });
  addFault(world.parts.gce, { method: 'instances.detachDisk', mishap: { kind: 'hang' } });
  const giveUp = new AbortController();
  let arrived = 0;
  const gceServer = await openGceServer(world, 0, () => {
    arrived += 1;
    if (arrived === 2) giveUp.abort();
  });
  const cloud = gcpCloud(computeClients({ newRequestId: requestIds(), endpoint: gceServer.url }));
  const target = { machine, incarnation: instanceIn(world, machine)?.id ?? null };
  await expect(cloud.detach(target, disk, 'plain', granted, giveUp.signal)).rejects.toBeInstanceOf(Unavailable);
  await gceServer.close();
  world.advance(MINUTE);
  expect(diskIn(world, disk)?.users).toEqual([machine]);
});
