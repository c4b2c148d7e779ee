import { handleGce } from '../../sandbox/gce/rest.ts';
import { addDisk, stopGuest, zonesOf } from '../../sandbox/gce/scenario.ts';
import { apiOf, createGceSandbox, PERSISTENT_DISK, type WholeGceWorld } from '../../sandbox/gce-sandbox.ts';
import { addMachine, nodeNameOf } from '../../sandbox/scenes/gce-database.ts';
import type { CloudSandbox, Start } from './cloud-sandbox.ts';

export const openSandbox = (start: Start): CloudSandbox => {
  const world: WholeGceWorld = createGceSandbox(start);
  return {
    world,
    addMachine: () => addMachine(world),
    nodeOf: nodeNameOf,
    addDisk: () => ({ driver: PERSISTENT_DISK, handle: addDisk(world), zone: zonesOf(world)[0] ?? '' }),
    stop: (machine) => stopGuest(world, machine),
    api: (settings) => apiOf(world, settings),
    answer: ({ method, url, body }) => {
      const { status, body: text, method: call } = handleGce(world, { method, url, body: String(body) });
      return { call, status, headers: { 'content-type': 'application/json; charset=UTF-8' }, body: text };
    },
    offStates: /"status":\s*"(TERMINATED|STOPPED)"/,
    environment: (url) => ({ CLOUDFENCE_GCP_ENDPOINT: url }),
  };
};
