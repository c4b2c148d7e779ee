import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { isDestructive } from '../faults/changes.ts';
import type { GateResponse } from '../faults/gate.ts';
import type { Gates } from '../faults/gates.ts';
import { openGates } from '../faults/gates.ts';
import { forReason, inOtherWords, inState, isLook, unknownHere, withoutLaunchTime } from '../faults/other-words.ts';
import { openLone } from '../scenes/lone.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';

/** A run that began by mistake would wait for its end for a long time. */
const ENDS = ['--timeout', '60s'] as const;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** What EC2 says about a machine whose kubelet is silent, and the expected outcome. Spot also hibernates instances. */
const words: readonly {
  readonly what: string;
  readonly change: (answer: GateResponse) => GateResponse;
  readonly reason: string;
}[] = [
  { what: 'that the machine is pending', change: inState(0, 'pending'), reason: 'machine-starting' },
  { what: 'a state that is not documented', change: inState(96, 'paused'), reason: 'power-unknown' },
  { what: 'that Spot has stopped the machine', change: forReason('Server.SpotInstanceShutdown'), reason: 'suspended' },
  { what: 'nothing about which boot has ended', change: withoutLaunchTime, reason: 'generation-unknown' },
  {
    what: 'that the machine is unknown, and no disk can confirm it',
    change: unknownHere,
    reason: 'missing-without-witness',
  },
];

/** The number of looks after which EC2 tells the truth. */
const LOOKS = 8;

const lastUntrueLook = ({ seen }: Gates): number =>
  seen.filter(({ passing }) => isLook(passing))[LOOKS - 1]?.at ?? Infinity;

const destroyedAt = ({ seen }: Gates): readonly number[] =>
  seen.filter(({ change }) => isDestructive(change)).map(({ at }) => at);

describe.concurrent('a machine is not fenced if EC2 says', () => {
  it.for(words)('$what', async ({ change, reason }) => {
    const [{ home, seen }, gates] = await Promise.all([openLone(testbed, 'unproven'), openGates(testbed.access)]);
    const before = await seen();
    await home.stop();
    gates.handle(inOtherWords(change));
    const { says } = await cloudfence(gates.access, 'fence', home.instance, ...ENDS);
    expect({ reason: says.reason.split(':')[0], steps: says.steps }).toEqual({ reason, steps: [] });
    expect(await seen()).toEqual(before);
    await gates.close();
  });
});

describe.concurrent('a machine is waited for, and nothing is destroyed, while EC2 says', () => {
  it.for([
    { what: 'that the machine is stopping', change: inState(64, 'stopping') },
    { what: 'that the machine is shutting down', change: inState(32, 'shutting-down') },
    { what: 'that the machine is unknown, while a disk names it', change: unknownHere },
  ])('$what', async ({ change }) => {
    const [stage, gates] = await Promise.all([openStage(testbed, 'untrue'), openGates(testbed.access)]);
    await stage.home.stop();
    gates.handle(inOtherWords(change, LOOKS));
    expect((await cloudfence(gates.access, 'fence', stage.home.instance)).says.outcome).toBe('fenced');
    expect(Math.min(...destroyedAt(gates))).toBeGreaterThan(lastUntrueLook(gates));
    await expectMoved(stage, { fenced: [stage.home] });
    await gates.close();
  });
});
