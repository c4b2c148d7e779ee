import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { Change } from './changes.ts';
import { isDestructive } from './changes.ts';
import type { Crippled } from './crippled.ts';
import { changesMade, expectRecovered, openCrippled } from './crippled.ts';
import { cloudfence, deliver, stateChanges } from '../entry-points/programs.ts';
import type { Handling } from './gate.ts';
import { CHANGES } from './moments.ts';
import {
  broken,
  cut,
  cutAfterEffect,
  onTheWayTo,
  onceEach,
  refused,
  refusedAfterEffect,
  silentAfterEffect,
  slow,
  throttled,
  unavailable,
  whenIts,
} from './troubles.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/**
 * Whatever goes wrong, the same is done in the end, with two exceptions. One call reports to people, and its failure
 * delays nothing. An attacher that sees by itself that the disk is free needs no nudge.
 */
const always = (changes: readonly Change[]): ReadonlySet<Change> =>
  new Set(changes.filter((change) => !['record-event', 'nudge', 'nudge-off'].includes(change)));
const DONE = always(CHANGES);

/** Each trouble is for one scenario, and is created again if it has a memory. */
const troubles: readonly { readonly what: string; readonly make: () => Handling }[] = [
  { what: 'the first try of each call is throttled', make: () => onceEach(refused(throttled)) },
  { what: 'the first try of each call gets an internal error', make: () => onceEach(refused(broken)) },
  { what: 'the first try of each call finds no server', make: () => onceEach(refused(unavailable)) },
  {
    what: 'the first try of each call takes effect but is reported as failed',
    make: () => onceEach(refusedAfterEffect(unavailable)),
  },
  { what: 'the first connection of each call breaks', make: () => onceEach(cut) },
  {
    what: 'the first connection of each call breaks after the call has taken effect',
    make: () => onceEach(cutAfterEffect),
  },
  {
    what: 'the first try of each important change takes effect and is never answered',
    make: () => whenIts(['mark', 'delete-pod', 'detach-disk'], onceEach(silentAfterEffect)),
  },
  { what: 'all answers are slow', make: () => slow(200) },
];

/** A second run completes what the first one leaves, over a connection without faults. */
const finish = async ({ gates, home }: Crippled): Promise<void> => {
  gates.handle((_, forward) => forward());
  expect(await cloudfence(gates.access, 'fence', home.instance)).toMatchObject({
    code: 0,
    says: { outcome: 'fenced' },
  });
};

describe.concurrent('on the connection to the API server', () => {
  it.for(troubles)('$what, and the fence of the CLI ends as it should', async ({ make }) => {
    const crippled = await openCrippled(testbed, 'api-fault');
    const { gates, home } = crippled;
    gates.handle(onTheWayTo('api', make()));
    const { says } = await cloudfence(gates.access, 'fence', home.instance, '--timeout', '90s');
    if (says.outcome !== 'fenced') await finish(crippled);
    await expectRecovered(crippled);
    expect(always(changesMade(gates))).toEqual(DONE);
    await crippled.close();
  });
});

describe.concurrent('on the connection to EC2', () => {
  it.for(troubles)('$what, and the fence of the function ends as it should', async ({ make }) => {
    const crippled = await openCrippled(testbed, 'ec2-fault');
    const { gates, home } = crippled;
    gates.handle(onTheWayTo('ec2', make()));
    const { batchItemFailures } = await deliver(
      gates.access,
      stateChanges(home.instance, ['stopped'], gates.access.ec2),
    );
    if (batchItemFailures.length > 0) await finish(crippled);
    await expectRecovered(crippled);
    expect(always(changesMade(gates))).toEqual(DONE);
    await crippled.close();
  });

  it('if answers take longer than a proof lasts, nothing is destroyed until answers are faster', async () => {
    const crippled = await openCrippled(testbed, 'ec2-slow');
    const { gates, home, disk } = crippled;
    gates.handle(onTheWayTo('ec2', slow(2_100)));
    const { code, says } = await cloudfence(gates.access, 'fence', home.instance, '--timeout', '20s');
    expect(code).not.toBe(0);
    expect(says.steps).toEqual([]);
    expect(gates.seen.filter(({ change }) => isDestructive(change))).toEqual([]);
    expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
    await finish(crippled);
    await expectRecovered(crippled);
    await crippled.close();
  });
});
