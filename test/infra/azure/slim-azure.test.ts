import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bundleFunction } from '../../../infra/serverless/bundle.ts';
import { AZURE_CALLS } from '../../../infra/serverless/slim-libraries.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { azureCloud, type AzureCloud } from '../../../providers/azure/index.ts';
import { inProcessClient } from '../../../sandbox/azure/in-process-client.ts';
import { addDisk, addMachine } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn, type AzureCloudWorld } from '../../../sandbox/azure/state.ts';
import { granted } from '../../permits.ts';
import {
  azureWorld,
  credential,
  MINUTE,
  patient,
  polling,
  prefix,
  subscription,
} from '../../sandbox/azure/azure-world.ts';

/**
 * The bundled SDK, of which most was removed, compared with the whole SDK: every call of the provider, and its result.
 */

const root = fileURLToPath(new URL('../../..', import.meta.url));

const provider = z.object({
  azureClients: z.custom<typeof azureClients>((value) => typeof value === 'function'),
  azureCloud: z.custom<typeof azureCloud>((value) => typeof value === 'function'),
});
type Provider = z.infer<typeof provider>;

let folder: string;
let slim: Provider;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-azure-'));
  await bundleFunction(root, 'test/infra/entries/azure-provider.ts', folder);
  slim = provider.parse(createRequire(import.meta.url)(path.join(folder, 'index.js')));
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

const SET = `${prefix}/virtualMachineScaleSets/pool`;

const stage = (power: 'deallocated' | 'running') => {
  const world = azureWorld();
  const machines = [addMachine(world, { power }), addMachine(world, { set: 'pool', power })];
  const disks = machines.map((machine) => addDisk(world, {}, { machine }));
  return { world, machines, disks };
};

type Deed = (cloud: AzureCloud, machine: string, disk: string, world: AzureCloudWorld) => Promise<unknown>;

const targetOf = (world: AzureCloudWorld, machine: string) => ({
  machine,
  incarnation: machineIn(world, machine)?.vmId ?? null,
});

const deeds: readonly (readonly [string, 'deallocated' | 'running', Deed])[] = [
  [
    'looks at a machine and its disks',
    'deallocated',
    (cloud, machine) => cloud.look([machine], { disks: true }, patient()),
  ],
  ['asks a disk about a machine', 'deallocated', (cloud, machine, disk) => cloud.witness(machine, [disk], patient())],
  ['looks at the machines of a set', 'running', (cloud) => cloud.expand([SET], patient())],
  [
    'detaches a disk',
    'deallocated',
    (cloud, machine, disk, world) => cloud.detach(targetOf(world, machine), disk, 'plain', granted, patient()),
  ],
  ['powers off', 'running', (cloud, machine, _, world) => cloud.powerOff(targetOf(world, machine), granted, patient())],
];

const after = async (
  power: 'deallocated' | 'running',
  deed: Deed,
  { azureClients: clientsOf, azureCloud: cloudOf }: Provider,
) => {
  const { world, machines, disks } = stage(power);
  const cloud = cloudOf(clientsOf({ subscription, credential, polling, httpClient: inProcessClient(world) }));
  const said: unknown[] = [];
  for (const [nth, machine] of machines.entries()) {
    said.push(await deed(cloud, machine, disks[nth] ?? '', world).catch(String));
    world.advance(MINUTE);
  }
  return {
    said,
    power: machines.map((machine) => machineIn(world, machine)?.power),
    attachments: disks.map((disk) => diskIn(world, disk)?.attachments.length),
  };
};

describe('the bundled SDK of Azure', () => {
  it.each(deeds)('%s like the whole SDK', async (_, power, deed) => {
    expect(await after(power, deed, slim)).toEqual(await after(power, deed, { azureClients, azureCloud }));
  });

  it('has every call of the provider, and no other', () => {
    const CALL = /\b(?<service>disks|virtualMachine\w*)\s*\.(?<call>\w+)\(/g;
    const text = globSync('providers/azure/**/*.ts', { cwd: root }).map((file) =>
      readFileSync(path.join(root, file), 'utf8'),
    );
    const made = text.flatMap((one) =>
      [...one.matchAll(CALL)].map(({ groups }) => `${groups?.['service']}.${groups?.['call']}`),
    );
    const bundled = Object.entries(AZURE_CALLS).flatMap(([service, calls]) =>
      calls.map((call) => `${service}.${call}`),
    );
    expect(
      [...new Set(made)].filter((call) => !/disks\.(?:map|filter|find|flatMap|some|every)$/.test(call)).toSorted(),
    ).toEqual(bundled.toSorted());
  });
});
