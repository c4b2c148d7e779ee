import { expect, it } from 'vitest';
import { onEvent } from '../../functions/aws/on-event.ts';
import { readHints } from '../../providers/aws/events/read-hints.ts';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { stopped } from '../simulation/incidents.ts';
import { batchOf, installOver } from './install.ts';
import { about, isMarked, namesMachine, sample, samplesOf } from './samples.ts';

/**
 * Every sample of the cloud as input of the function. If it names a machine that is off, that machine is marked. No
 * sample is ignored silently.
 */

const deliver = async (text: string) => {
  const { world, scene } = stopped();
  const install = installOver(world);
  const sent = about(text, scene.holder, readHints, { account: SANDBOX_ACCOUNT, region: SANDBOX_REGION });
  await onEvent(async () => install.dependencies)(batchOf(sent), install.context());
  return { ...install, hasMarked: isMarked(install, scene.holder) };
};

it.each(samplesOf('aws'))('%s is reported, and the machine that it names is fenced', async (name) => {
  const { lines, dead, hasMarked } = await deliver(sample('aws', name));
  expect({ isLogged: lines.length > 0, deadLetters: dead.map(({ reason }) => reason), hasMarked }).toEqual({
    isLogged: true,
    deadLetters: [],
    hasMarked: namesMachine(sample('aws', name), readHints),
  });
});
