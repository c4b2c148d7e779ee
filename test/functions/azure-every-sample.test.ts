import { expect, it } from 'vitest';
import { onEvent } from '../../functions/azure/on-event.ts';
import { readHints } from '../../providers/azure/events/read-hints.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { SANDBOX_SUBSCRIPTION } from '../../sandbox/azure-sandbox.ts';
import { change, scene } from '../sandbox/azure/azure-runs.ts';
import { azureInstall } from './azure-install.ts';
import { about, isMarked, namesMachine, sample, samplesOf } from './samples.ts';

/**
 * Every sample of the cloud as input of the function. If it names a machine that is off, that machine is marked. No
 * sample is ignored silently.
 */

const deliver = async (text: string, whole = false) => {
  const { world, holder } = scene();
  change(world, holder, deallocate, 60_000);
  const install = azureInstall(world);
  const named = whole ? holder.replace(/\/virtualmachines\/[^/]+$/, '') : holder;
  const sent = about(text, named, readHints, { account: SANDBOX_SUBSCRIPTION, region: null });
  await onEvent(install.getDependencies)([sent], install.context);
  return { ...install, hasMarked: isMarked(install, holder) };
};
const isOfSet = (name: string): boolean => name.startsWith('arm-set-');

it.each(samplesOf('azure'))('%s is reported, and the machine that it names is fenced', async (name) => {
  const { lines, queues, hasMarked } = await deliver(sample('azure', name), isOfSet(name));
  expect({ isLogged: lines.length > 0, deadLetters: queues['dead-letters'] ?? [], hasMarked }).toEqual({
    isLogged: true,
    deadLetters: [],
    hasMarked: namesMachine(sample('azure', name), readHints),
  });
});
