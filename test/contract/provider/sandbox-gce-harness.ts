import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients, type ComputeClients } from '../../../providers/gcp/client.ts';
import { attach } from '../../../sandbox/gce/attachments.ts';
import { openGceServer } from '../../../sandbox/gce/gce-server.ts';
import { remove, start, stop } from '../../../sandbox/gce/instances.ts';
import { addDisk, addInstance, pathOf, recreate } from '../../../sandbox/gce/scenario.ts';
import {
  diskIn,
  instanceIn,
  type GceWorld,
  type Instance,
  type SimulationSettings,
} from '../../../sandbox/gce/state.ts';
import { MINUTE, gceWorld, requestIds, zone } from '../../sandbox/gce/gce-world.ts';
import type { NameReuseHarness } from './name-reuse-contract.ts';
import { sandboxGceTable } from './sandbox-gce-table.ts';

type Change = (world: GceWorld, instance: Instance) => unknown;

const apply = (world: GceWorld, path: string, wanted: Change): void => {
  const instance = instanceIn(world, path);
  if (instance) wanted(world, instance);
  world.advance(5 * MINUTE);
};

const harnessOn = (world: GceWorld, clients: ComputeClients, close: () => Promise<void>): NameReuseHarness => ({
  cloud: gcpCloud(clients),
  unknownMachine: pathOf(world, 'nobody'),
  unknownDisk: `projects/my-project/zones/${zone}/disks/nothing`,
  machine: async () => addInstance(world),
  stop: async (path) => apply(world, path, stop),
  start: async (path) => apply(world, path, start),
  terminate: async (path) => apply(world, path, remove),
  afterTermination: { power: 'missing', forGood: false },
  afterPowerOff: 'off',
  proofTable: sandboxGceTable(world),
  succeed: async (path) => {
    apply(world, path, remove);
    recreate(world, path);
  },
  attach: async (disk, path) => {
    const free = diskIn(world, disk);
    if (free)
      apply(world, path, (_, instance) =>
        attach(
          world,
          instance,
          free,
          { source: disk, deviceName: 'again', boot: false, mode: 'READ_WRITE', autoDelete: false },
          null,
        ),
      );
  },
  disk: async (path) => addDisk(world, {}, path === null ? undefined : { instance: path }),
  holderOf: async (disk) => diskIn(world, disk)?.users[0] ?? null,
  settle: async () => world.advance(5 * MINUTE),
  identitySourceOf: (path) => {
    const [, project, , zoneName, , name] = path.split('/');
    return { source: 'providerID', driver: null, value: `gce://${project}/${zoneName}/${name}` };
  },
  attachedAs: (path) => ({ source: 'volumeAttachment', driver: 'pd.csi.storage.gke.io', value: path }),
  volumeOf: (disk) => ({ driver: 'pd.csi.storage.gke.io', handle: disk }),
  close,
});

/** Compute Engine of the sandbox over HTTP, with the unmodified SDK. */
export const sandboxGceHarness = async (knobs: Partial<SimulationSettings> = {}): Promise<NameReuseHarness> => {
  const world = gceWorld(knobs);
  const gceServer = await openGceServer(world);
  return harnessOn(world, computeClients({ newRequestId: requestIds(), endpoint: gceServer.url }), gceServer.close);
};

/** The same with the client of the caller, for example one that checks what it sends and gets. */
export const inProcessGceHarness = async (
  clientsOf: (world: GceWorld) => ComputeClients,
): Promise<NameReuseHarness> => {
  const world = gceWorld();
  return harnessOn(world, clientsOf(world), async () => undefined);
};
