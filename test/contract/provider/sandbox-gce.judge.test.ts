import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { GOOGLE_CALLS } from '../../../infra/serverless/slim-libraries.ts';
import { gcpDrill } from '../../../providers/gcp/drill.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { missingDiskPermissions, missingMachinePermissions } from '../../../providers/gcp/plugin/permissions.ts';
import { inProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { addDisk, addInstance, pathOf } from '../../../sandbox/gce/scenario.ts';
import { instanceIn } from '../../../sandbox/gce/state.ts';
import { freshClientsOf, gceWorld, patient, place } from '../../sandbox/gce/gce-world.ts';
import { checkedCalls, type CheckedCalls } from '../discovery/checked-calls.ts';
import { computeDocument } from '../discovery/document.ts';
import { nameReuseContract } from './name-reuse-contract.ts';
import { providerContract } from './provider-contract.ts';
import { inProcessGceHarness } from './sandbox-gce-harness.ts';

const document = computeDocument();
const all: CheckedCalls[] = [];

const open = () =>
  inProcessGceHarness((world) => {
    const checked = checkedCalls(document, inProcessFetch(world));
    all.push(checked);
    return freshClientsOf(world, checked.fetch);
  });

providerContract("the sandbox's Compute Engine, call by call as Google's document has it", open);
nameReuseContract("the sandbox's Compute Engine, call by call as Google's document has it", open);

/** Disks in two zones have their own collection. The machines of the other tables have none. */
it('a regional disk is read, asked as a witness, and detached', async () => {
  const world = gceWorld();
  const checked = checkedCalls(document, inProcessFetch(world));
  all.push(checked);
  const cloud = gcpCloud(freshClientsOf(world, checked.fetch));
  const machine = addInstance(world, { status: 'TERMINATED', guest: 'down' });
  const disk = addDisk(
    world,
    { path: `projects/${place.project}/regions/${place.region}/disks/both` },
    { instance: machine },
  );
  const [facts] = await cloud.look([machine], { disks: true }, patient());
  expect(facts?.disks).toContainEqual(expect.objectContaining({ disk }));
  expect(await cloud.witness(pathOf(world, 'nobody'), [disk], patient())).toBeDefined();
  await cloud.detach(
    { machine, incarnation: instanceIn(world, machine)?.id ?? null },
    disk,
    'plain',
    { check: () => undefined, ended: patient() },
    patient(),
  );
});

it('permissions are tested on a machine, and on a disk in one zone or two', async () => {
  const world = gceWorld();
  const checked = checkedCalls(document, inProcessFetch(world));
  all.push(checked);
  const clients = freshClientsOf(world, checked.fetch);
  const machine = addInstance(world);
  const disks = [
    addDisk(world),
    addDisk(world, { path: `projects/${place.project}/regions/${place.region}/disks/both` }),
  ];
  expect(await missingMachinePermissions(clients, machine, ['compute.instances.detachDisk'], patient())).toEqual([]);
  for (const disk of disks)
    expect(await missingDiskPermissions(clients, disk, ['compute.disks.use'], patient())).toEqual([]);
});

it('a machine is started after a drill', async () => {
  const world = gceWorld();
  const checked = checkedCalls(document, inProcessFetch(world));
  all.push(checked);
  const machine = addInstance(world, { status: 'TERMINATED', guest: 'down' });
  const target = { machine, incarnation: instanceIn(world, machine)?.id ?? null };
  const permit = { check: () => undefined, ended: patient() };
  await gcpDrill(freshClientsOf(world, checked.fetch), null).start(target, permit, patient());
  expect(instanceIn(world, machine)?.status).not.toBe('TERMINATED');
});

const lower = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** Every call of a client in the sources of the provider, with the name of its method in Google's document. */
const callsInSources = (): ReadonlySet<string> => {
  const folder = new URL('../../../providers/gcp/', import.meta.url);
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const service = (client: string): string => (client === 'operations' ? 'zoneOperations' : client);
  return new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/\bclients\s*\.(\w+)\s*\.(\w+)\(/g)].map(
        ([, client = '', method = '']) => `compute.${service(client)}.${method}`,
      ),
    ),
  );
};

describe('the calls above and their answers', () => {
  afterAll(() => all.splice(0));

  it('match Google’s document', () => expect(all.flatMap(({ faults }) => faults)).toEqual([]));

  it('are all that the provider makes: a call that no case above makes fails here', () => {
    const judged = new Set(all.flatMap(({ called }) => [...called]));
    expect(judged).toEqual(callsInSources());
    expect(judged).toEqual(
      new Set(
        Object.entries(GOOGLE_CALLS).flatMap(([service, methods]) =>
          methods.map((method) => `compute.${lower(service)}.${lower(method)}`),
        ),
      ),
    );
    expect(judged).toContain('compute.regionDisks.get');
  });
});
