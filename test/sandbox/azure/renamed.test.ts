import { expect, it } from 'vitest';
import { addNode } from '../../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { machineIn } from '../../../sandbox/azure/state.ts';
import { AZURE_DISK } from '../../../sandbox/azure-sandbox.ts';
import { nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';
import { react, scene, sweepOnce } from './azure-runs.ts';

/**
 * A healthy machine has registered under another Node name, and the cloud controller has not initialized that Node yet:
 * it has no providerID. Its old Node is still there.
 */

const MINUTE = 60_000;
const powerOff = { unreachable: 'power-off' } as const;

const renamed = (systemUUID: (vmId: string) => string) => {
  const made = scene([{ set: 'pool' }, { set: 'pool' }, { set: 'pool' }]);
  const { world, holder } = made;
  const { vmId = '', zone = '' } = machineIn(world, holder) ?? {};
  addNode(world, {
    name: 'renamed',
    machine: holder,
    nodeID: 'renamed',
    systemUUID: systemUUID(vmId),
    providerID: '',
    zone: `${world.parts.azure.location}-${zone}`,
    driver: AZURE_DISK,
  });
  world.advance(10 * MINUTE);
  expect(getObject(world, 'nodes', 'renamed')?.status.conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);
  expect(getObject(world, 'nodes', nodeNameOf(world, holder))?.status.conditions).toMatchObject([
    { type: 'Ready', status: 'Unknown' },
  ]);
  return made;
};

const swapped = (uuid: string): string =>
  uuid.replace(/^(..)(..)(..)(..)-(..)(..)-(..)(..)/, '$4$3$2$1-$6$5-$8$7').toUpperCase();

it.each([
  ['in the order of the cloud', (vmId: string) => vmId],
  ['in the order of older guests', swapped],
])('is not powered off, because its new Node shows the id of its machine, %s', async (_, systemUUID) => {
  const { world, holder } = renamed(systemUUID);
  for (const outcome of [await react(world, holder, 100, powerOff), ...(await sweepOnce(world, powerOff))])
    expect(outcome).toMatchObject({
      outcome: 'refused',
      reason: { code: 'power-off-refused', says: expect.stringContaining('renamed') },
    });
  expect(machineIn(world, holder)).toMatchObject({ power: 'running', guest: 'up' });
});

it('is powered off if the other Node belongs to another machine', async () => {
  const { world, holder } = renamed(() => '00000000-0000-4000-8000-000000000001');
  expect((await react(world, holder, 100, powerOff)).steps[0]).toMatchObject({ step: 'power-off' });
});
