import { expect, it } from 'vitest';
import { parseRecord } from '../../../fencing/model/record.ts';
import { parseLedger } from '../../../kubernetes/ledger-text.ts';
import { LEDGER, RECORD_ANNOTATION } from '../../../kubernetes/names.ts';
import type { AzureWorld } from '../../../sandbox/azure-sandbox.ts';
import { deallocate, start } from '../../../sandbox/azure/machines.ts';
import { stopGuest } from '../../../sandbox/azure/scenario.ts';
import { diskIn, disksOf } from '../../../sandbox/azure/state.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { write } from '../../../sandbox/history.ts';
import { nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';
import { change, react, scene } from './azure-runs.ts';

/**
 * A machine whose OS disk ARM does not show, because it is unmanaged or on the host. Only the time of its last
 * operation shows which of its boots has ended, and each detach is an operation: that of the CSI driver, which the
 * fence causes, and our own.
 */
const sceneWithout = (hide: 'disk' | 'time') => {
  const found = scene();
  const { world, holder } = found;
  const os = disksOf(world, holder).find((disk) => disk.os);
  if (os) write(world.parts.azure.disks, os.id, hide === 'disk' ? null : { ...os, handedOverAt: null }, world.now());
  return found;
};

const phaseOf = (world: AzureWorld, machine: string) => {
  const node = getObject(world, 'nodes', nodeNameOf(world, machine));
  return parseRecord(node?.metadata.annotations?.[RECORD_ANNOTATION] ?? '')?.phase ?? null;
};

/** Which fences are finished, according to the ledger. */
const finishedIn = (world: AzureWorld) => {
  const map = getObject(world, 'configmaps', LEDGER.name, LEDGER.namespace);
  return parseLedger(map?.data).entries.map(({ finished }) => finished);
};

const marks = (outcome: Awaited<ReturnType<typeof react>>) => outcome.steps.filter(({ step }) => step === 'mark');

it.each(['disk', 'time'] as const)(
  'a machine is fenced to the end with one fence although the driver detaches its disk meanwhile (no %s)',
  async (hide) => {
    const { world, disk, holder, spare } = sceneWithout(hide);
    change(world, holder, deallocate);
    const outcome = await react(world, holder);
    expect(outcome).toMatchObject({ outcome: 'fenced' });
    expect(marks(outcome)).toHaveLength(1);
    expect(phaseOf(world, holder)).toBe('fenced');
    world.advance(30_000);
    expect(diskIn(world, disk)?.attachments[0]?.machine).toBe(spare);
    expect(world.parts.azure.violations).toEqual([]);
  },
);

it('a fence that has ended makes room for the next one, although a detach has renamed the boot', async () => {
  const { world, holder } = sceneWithout('disk');
  change(world, holder, deallocate);
  expect(await react(world, holder)).toMatchObject({ outcome: 'fenced' });
  expect(finishedIn(world)).toEqual([true]);
});

it('a machine is fenced to the end although Cloudfence detaches its disk meanwhile', async () => {
  const { world, disk, holder } = sceneWithout('disk');
  world.parts.cluster.knobs.attacherDown = true;
  stopGuest(world, holder);
  world.advance(30_000);
  const outcome = await react(world, holder);
  expect(outcome.steps.map(({ step, result }) => [step, result])).toContainEqual(['detach-disk', 'done']);
  expect(marks(outcome)).toHaveLength(1);
  expect(diskIn(world, disk)?.attachments).toEqual([]);
  expect(world.parts.azure.violations).toEqual([]);
});

it('a machine is fenced again with a new fence if it was really started in between', async () => {
  const { world, holder } = sceneWithout('disk');
  change(world, holder, deallocate);
  expect(await react(world, holder)).toMatchObject({ outcome: 'fenced' });
  change(world, holder, start, 120_000);
  change(world, holder, deallocate);
  const again = await react(world, holder);
  expect(['fenced', 'ignored']).toContain(again.outcome);
  expect(phaseOf(world, holder)).toBe('fenced');
  expect(world.parts.azure.violations).toEqual([]);
});
