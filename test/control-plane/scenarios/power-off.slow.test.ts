import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { under } from '../../testbed/installation.ts';
import { expectMoved, openStage, type Stage } from '../scenes/stage.ts';
import { until } from '../../testbed/until.ts';

/** On its own control plane: another unreachable Node would forbid the power-off. */
let testbed: OwnTestbed;
beforeAll(async () => {
  testbed = await openOwnTestbed();
});
afterAll(() => testbed?.close());

const PATIENCE_MS = 301_000;
const condition = z.looseObject({ type: z.string(), status: z.string(), lastTransitionTime: z.string() });
const conditions = z.looseObject({ status: z.looseObject({ conditions: z.array(condition) }) });

const unreachableFor = async ({ home }: Stage): Promise<number> => {
  const { status } = conditions.parse(await testbed.admin.get(`/api/v1/nodes/${home.name}`));
  const ready = status.conditions.find(({ type }) => type === 'Ready');
  return ready && ready.status !== 'True' ? Date.now() - Date.parse(ready.lastTransitionTime) : 0;
};

describe('a running machine that was out of reach for five minutes', () => {
  it('is stopped by policy, and fenced once it is proven off', async () => {
    const stage = await openStage(testbed, 'power-off');
    const { home } = stage;
    home.kubelet.die();
    await until('five minutes are over', async () => (await unreachableFor(stage)) > PATIENCE_MS, 420_000);
    expect(await home.state()).toBe('running');
    const { code, says } = await cloudfence(
      await under(testbed.access, { unreachable: 'power-off' }),
      'fence',
      home.instance,
    );
    expect({ code, outcome: says.outcome, first: says.steps[0]?.step }).toEqual({
      code: 0,
      outcome: 'fenced',
      first: 'power-off',
    });
    expect(await home.state()).toBe('stopped');
    await expectMoved(stage, { fenced: [home] });
  });
});
