import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Cloud } from '../../../fencing/model/cloud.ts';
import { bundleFunction } from '../../../infra/serverless/bundle.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients } from '../../../providers/gcp/client.ts';
import { addFault, rateLimitError } from '../../../sandbox/gce/faults.ts';
import { inProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { addDisk, addInstance, pathOf } from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn, type GceWorld } from '../../../sandbox/gce/state.ts';
import { gceWorld, place, requestIds } from '../../sandbox/gce/gce-world.ts';
import { granted } from '../../permits.ts';

/**
 * The bundled SDK, of which most was removed, compared with the whole SDK: every call of the provider, and its result.
 */

const provider = z.object({
  computeClients: z.custom<typeof computeClients>((value) => typeof value === 'function'),
  gcpCloud: z.custom<typeof gcpCloud>((value) => typeof value === 'function'),
});

let folder: string;
let slim: z.infer<typeof provider>;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-google-'));
  await bundleFunction(
    fileURLToPath(new URL('../../..', import.meta.url)),
    'test/infra/entries/gcp-provider.ts',
    folder,
  );
  slim = provider.parse(createRequire(import.meta.url)(path.join(folder, 'index.js')));
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

const patient = (): AbortSignal => new AbortController().signal;

const stage = () => {
  const world = gceWorld();
  const machine = addInstance(world, { status: 'TERMINATED', guest: 'down' });
  const zonal = addDisk(world, {}, { instance: machine });
  const regional = addDisk(
    world,
    { path: `projects/${place.project}/regions/${place.region}/disks/both` },
    { instance: machine },
  );
  return { world, machine, zonal, regional, target: { machine, incarnation: instanceIn(world, machine)?.id ?? null } };
};

type Stage = ReturnType<typeof stage>;
type Deed = (cloud: Cloud, stage: Stage) => Promise<unknown>;

const deeds: readonly (readonly [string, Deed])[] = [
  ['looks at a machine and its disks', (cloud, { machine }) => cloud.look([machine], { disks: true }, patient())],
  [
    'looks for a machine that does not exist',
    (cloud, { world }) => cloud.look([pathOf(world, 'nobody')], { disks: true }, patient()),
  ],
  [
    'asks disks about a machine',
    (cloud, { machine, zonal, regional }) => cloud.witness(machine, [zonal, regional], patient()),
  ],
  ['detaches a disk', (cloud, { target, zonal }) => cloud.detach(target, zonal, 'plain', granted, patient())],
  [
    'detaches a disk of a region',
    (cloud, { target, regional }) => cloud.detach(target, regional, 'plain', granted, patient()),
  ],
  [
    'powers off',
    (cloud, { world }) => {
      const machine = addInstance(world);
      return cloud.powerOff({ machine, incarnation: instanceIn(world, machine)?.id ?? null }, granted, patient());
    },
  ],
  [
    'handles a request to come back later',
    (cloud, { world, target, zonal }) => {
      addFault(world.parts.gce, { method: 'instances.detachDisk', when: 'before', mishap: rateLimitError });
      return cloud.detach(target, zonal, 'plain', granted, patient());
    },
  ],
];

const after = async (deed: Deed, cloudFor: (world: GceWorld) => Cloud): Promise<unknown> => {
  const scene = stage();
  const said = await deed(cloudFor(scene.world), scene).catch((error: unknown) =>
    error instanceof Error ? error.message : error,
  );
  scene.world.advance(60_000);
  const users = [scene.zonal, scene.regional].map((disk) => diskIn(scene.world, disk)?.users);
  return { said, users, operations: scene.world.parts.gce.operations.map(({ type, error }) => ({ type, error })) };
};

describe('the bundled SDK of Compute Engine', () => {
  it.each(deeds)('%s like the whole SDK', async (_, deed) => {
    const options = (world: GceWorld) => ({
      newRequestId: requestIds(),
      endpoint: 'http://sandbox.invalid',
      fetch: inProcessFetch(world),
    });
    const whole = await after(deed, (world) => gcpCloud(computeClients(options(world))));
    expect(await after(deed, (world) => slim.gcpCloud(slim.computeClients(options(world))))).toEqual(whole);
  });
});
