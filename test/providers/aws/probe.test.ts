import { expect, it } from 'vitest';
import { Denied, Unavailable } from '../../../fencing/errors.ts';
import { probe } from '../../../providers/aws/index.ts';
import { addFault, throttled } from '../../../sandbox/ec2/faults.ts';
import { verbsInWords } from '../../../wiring/open-aws.ts';
import { clientsOf, ec2World, patient, region } from '../../sandbox/ec2/ec2-world.ts';

const unauthorized = { kind: 'error', code: 'UnauthorizedOperation', status: 403 } as const;
const notFound = { kind: 'error', code: 'InvalidVolume.NotFound', status: 400 } as const;

const probedWith = (...faults: Parameters<typeof addFault>[1][]) => {
  const world = ec2World();
  for (const fault of faults) addFault(world.parts.ec2, { times: 9, params: { DryRun: 'true' }, ...fault });
  return probe(clientsOf(world), region, patient());
};

it('finds each verb allowed that a dry run does not deny', async () => {
  const words = verbsInWords(await probedWith({ action: 'DetachVolume', mishap: notFound }));
  expect(words).toBe('ec2:DetachVolume is not denied; ec2:StopInstances is not denied');
});

it.each([
  ['DetachVolume', /^ec2:DetachVolume IS DENIED .*stays attached; ec2:StopInstances is not denied$/],
  ['StopInstances', /^ec2:DetachVolume is not denied; ec2:StopInstances IS DENIED .*power-off/],
])('tells of a denied %s, and what that means', async (action, words) => {
  expect(verbsInWords(await probedWith({ action, mishap: unauthorized }))).toMatch(words);
});

it('does not take trouble, or a denied read, for an answer', async () => {
  await expect(probedWith({ action: 'DetachVolume', mishap: throttled })).rejects.toThrow(Unavailable);
  await expect(probedWith({ action: 'DescribeVolumes', params: {}, mishap: unauthorized })).rejects.toThrow(Denied);
});
