import { describe, expect, it } from 'vitest';
import type { AzureWorld } from '../../../sandbox/azure-sandbox.ts';
import { deallocate, remove, start } from '../../../sandbox/azure/machines.ts';
import { addMachine, showAs, stopGuest } from '../../../sandbox/azure/scenario.ts';
import { diskIn, machineIn } from '../../../sandbox/azure/state.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { addNodeOf, nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';
import { accept, change, react, scene, sweepOnce } from './azure-runs.ts';

const holderOf = (world: AzureWorld, disk: string): string | null =>
  diskIn(world, disk)?.attachments[0]?.machine ?? null;
const runsOn = (world: AzureWorld): string | undefined => {
  const pod = getObject(world, 'pods', 'db-0', 'default');
  return pod?.status.phase === 'Running' ? pod.spec.nodeName : undefined;
};

describe('a whole fence on Azure', () => {
  it('moves the database of a deallocated machine to the other one in under a minute', async () => {
    const { world, disk, holder, spare } = scene();
    change(world, holder, deallocate, 30_000);
    const began = world.now();
    expect(await react(world, holder)).toMatchObject({ outcome: 'fenced' });
    expect(world.now() - began).toBeLessThan(60_000);
    world.advance(30_000);
    expect([holderOf(world, disk), runsOn(world), world.parts.azure.violations]).toEqual([
      spare,
      nodeNameOf(world, spare),
      [],
    ]);
  });

  it('keeps its mark while the detach of a disk is under way, because the machine stays deallocated', async () => {
    const { world, holder } = scene();
    change(world, holder, deallocate, 30_000);
    const { steps } = await react(world, holder);
    expect(steps.map(({ step }) => step).filter((step) => step === 'mark' || step === 'lift-out-of-service')).toEqual([
      'mark',
    ]);
  });

  it('treats a machine that stopped by itself as off once a second look confirms it', async () => {
    const { world, disk, holder, spare } = scene();
    stopGuest(world, holder);
    world.advance(30_000);
    expect(await react(world, holder)).toMatchObject({ outcome: 'fenced' });
    world.advance(30_000);
    expect([holderOf(world, disk), world.parts.azure.violations]).toEqual([spare, []]);
  });

  const deallocates = (world: AzureWorld, id: string): void => change(world, id, deallocate, 0);
  it.each([
    ['an operation on it is in progress', deallocates, { provisioning: 'Updating' }, {}],
    ['someone deallocates it', stopGuest, { power: 'deallocating', provisioning: 'Updating' }, { power: 'stopped' }],
  ] as const)('stays ended by a person while the machine is off: %s', async (_, stop, during, then) => {
    const { world, holder } = scene();
    stop(world, holder);
    world.advance(30_000);
    expect(await react(world, holder)).toMatchObject({ outcome: 'fenced' });
    showAs(world, holder, during);
    expect(await accept(world, holder)).toMatchObject({ outcome: 'released' });
    showAs(world, holder, { provisioning: 'Succeeded', ...then });
    world.advance(60_000);
    expect(await react(world, holder)).toMatchObject({ reason: { code: 'fence-removed-by-hand' }, steps: [] });
  });

  it('detaches the disk if Kubernetes does not', async () => {
    const { world, disk, holder } = scene();
    world.parts.cluster.knobs.attacherDown = true;
    change(world, holder, deallocate);
    const outcome = await react(world, holder);
    expect(outcome.steps.map(({ step, result }) => [step, result])).toContainEqual(['detach-disk', 'done']);
    expect([holderOf(world, disk), world.parts.azure.violations]).toEqual([null, []]);
  });

  it('names the refusal if a scale set does not detach by force, and the next run detaches plainly', async () => {
    const { world, disk, holder, spare } = scene();
    world.parts.cluster.knobs.attacherDown = true;
    change(world, holder, deallocate);
    Object.assign(world.parts.azure.knobs, {
      forceDetachOnSets: false,
      detachTakes: 30_000,
      detachFailsWith: 'InternalExecutionError',
    });
    const began = world.now();
    const refused = await react(world, holder);
    expect(refused).toMatchObject({
      outcome: 'failed',
      retry: true,
      reason: {
        code: 'step-refused',
        says: expect.stringMatching(/OperationNotAllowed: .*by force.*still attached to .*`az vmss disk detach`/),
      },
    });
    expect(refused.steps.filter(({ result }) => result === 'refused')).toHaveLength(6);
    expect(world.now() - began).toBeLessThan(310_000);
    expect(holderOf(world, disk)).toBe(holder);
    Object.assign(world.parts.azure.knobs, { detachTakes: 5_000, detachFailsWith: null });
    world.advance(60_000);
    const [again] = await sweepOnce(world);
    expect(again?.steps.map(({ step, result }) => [step, result])).toEqual([['detach-disk', 'done']]);
    world.parts.cluster.knobs.attacherDown = false;
    world.advance(60_000);
    expect(await sweepOnce(world)).toMatchObject([{ outcome: 'fenced' }]);
    world.advance(60_000);
    expect([holderOf(world, disk), runsOn(world), world.parts.azure.violations]).toEqual([
      spare,
      nodeNameOf(world, spare),
      [],
    ]);
  });

  it('waits for a machine that is being deallocated, and then fences it', async () => {
    const { world, disk, holder, spare } = scene();
    change(world, holder, deallocate, 5_000);
    expect(await react(world, holder)).toMatchObject({ outcome: 'fenced' });
    world.advance(30_000);
    expect([holderOf(world, disk), world.parts.azure.violations]).toEqual([spare, []]);
  });

  it.each([100, 400])(
    'fences a deleted machine because of its disk, even if the disk is attached elsewhere by now (%i ms a call)',
    async (takes) => {
      const { world, disk, holder, spare } = scene();
      change(world, holder, remove);
      expect(await react(world, holder, takes)).toMatchObject({ outcome: 'fenced' });
      world.advance(60_000);
      expect([holderOf(world, disk), runsOn(world), world.parts.azure.violations]).toEqual([
        spare,
        nodeNameOf(world, spare),
        [],
      ]);
    },
  );

  it('does not touch a hibernated machine', async () => {
    const { world, disk, holder } = scene();
    const machine = machineIn(world, holder);
    if (machine) world.parts.azure.machines[holder] = { present: { ...machine, canHibernate: true }, past: [] };
    change(world, holder, (_, able) => deallocate(world, able, true));
    expect(await react(world, holder)).toMatchObject({ outcome: 'refused', reason: { code: 'suspended' } });
    expect(holderOf(world, disk)).toBe(holder);
  });

  it('treats the next machine of a name as another machine, whatever its Node says', async () => {
    const { world, disk } = scene();
    const machine = addMachine(world, { name: 'db-0' });
    addNodeOf(world, machine, { older: true });
    world.advance(60_000);
    change(world, machine, remove);
    addMachine(world, { name: 'db-0', power: 'deallocated' });
    expect(await react(world, machine)).toMatchObject({
      outcome: 'refused',
      reason: { code: 'identity-contradicted' },
    });
    expect(holderOf(world, disk)).not.toBe(machine);
  });

  it('releases the machine once it runs again', async () => {
    const { world, holder, spare } = scene();
    change(world, holder, deallocate);
    await react(world, holder);
    change(world, holder, start);
    expect(await react(world, holder)).toMatchObject({ outcome: 'released' });
    expect(getObject(world, 'nodes', nodeNameOf(world, holder))?.spec.taints ?? []).toEqual([]);
    expect([runsOn(world), world.parts.azure.violations]).toEqual([nodeNameOf(world, spare), []]);
  });
});
