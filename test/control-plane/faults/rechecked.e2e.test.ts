import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atRecheck } from './at-recheck.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { openGates } from './gates.ts';
import type { Intervention } from '../scenes/by-hand.ts';
import { removeFence, removeTaint, renewLease } from '../scenes/by-hand.ts';
import { openStage } from '../scenes/stage.ts';
import { podsOn, worldOf, worldWith } from '../scenes/world.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** `noted`: the harmless note on the Node for later runs. */
const interventions: readonly {
  readonly what: string;
  readonly happens: Intervention;
  readonly reason: string;
  readonly noted: string;
}[] = [
  { what: 'its kubelet renews its Lease', happens: renewLease, reason: 'lease-renewed-after-off', noted: 'note' },
  { what: 'someone removes the taint', happens: removeTaint, reason: 'taint-removed-by-hand', noted: 'set-tombstone' },
  {
    what: 'someone removes the whole fence',
    happens: removeFence,
    reason: 'fence-removed-by-hand',
    noted: 'set-tombstone',
  },
];

describe.concurrent('the first pod of a dead machine is not deleted if, between look and delete,', () => {
  it.for(interventions)('$what', async ({ happens, reason, noted }) => {
    const [stage, gates] = await Promise.all([openStage(testbed, 'rechecked'), openGates(testbed.access)]);
    const { scene, home, pods } = stage;
    await home.stop();
    gates.handle(atRecheck('mark', () => happens(stage)));
    const { says } = await cloudfence(gates.access, 'fence', home.instance, '--timeout', '60s');
    expect({ reason: says.reason.split(':')[0], steps: says.steps.map(({ step }) => step) }).toEqual({
      reason,
      steps: ['mark', noted],
    });
    expect(podsOn(scene, scene.nodes)).toEqual(pods);
    expect((await worldOf(scene)).volumes).toEqual(worldWith(scene, { 'data-db-0': home }, []).volumes);
    await gates.close();
  });
});
