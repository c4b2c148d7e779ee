import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { under } from '../../testbed/installation.ts';
import type { Stage } from '../scenes/stage.ts';
import { expectUntouched, openStage } from '../scenes/stage.ts';
import { until } from '../../testbed/until.ts';

/** A run that began by mistake would wait for its end for a long time. */
const ENDS = ['--timeout', '60s'] as const;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const event = z.looseObject({ reason: z.string(), message: z.string() });
const eventList = z.looseObject({ items: z.array(event) });

const eventsOn = async (name: string): Promise<readonly string[]> => {
  const { items } = eventList.parse(
    await testbed.admin.get(`/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${name}`),
  );
  return items.map(({ reason, message }) => `${reason} ${message}`);
};

/** Its kubelet is silent while its instance runs. */
const cutOff = async ({ home }: Stage): Promise<void> => {
  home.kubelet.die();
  await until(
    `${home.name} is not Ready`,
    async () => {
      const found = testbed.kubelets.nodes.get(home.name);
      return found?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown');
    },
    90_000,
  );
};

describe.concurrent('a running machine that is cut off from the cluster', () => {
  it('is only reported', async () => {
    const stage = await openStage(testbed, 'partition');
    await cutOff(stage);
    const { code, says } = await cloudfence(testbed.access, 'fence', stage.home.instance, ...ENDS);
    expect({ code, outcome: says.outcome, steps: says.steps }).toEqual({ code: 4, outcome: 'refused', steps: [] });
    expect(says.reason).toMatch(/^unreachable-but-running/);
    expect(await eventsOn(stage.home.name)).toContainEqual(
      expect.stringMatching(/^FencingRefused .*it may still write/),
    );
    await expectUntouched(stage);
  });

  it('is not powered off early, whatever the policy says', async () => {
    const stage = await openStage(testbed, 'partition-early');
    await cutOff(stage);
    const { code, says } = await cloudfence(
      await under(testbed.access, { unreachable: 'power-off' }),
      'fence',
      stage.home.instance,
      ...ENDS,
    );
    expect({ code, outcome: says.outcome, steps: says.steps }).toEqual({ code: 4, outcome: 'refused', steps: [] });
    expect(says.reason).toMatch(/^power-off-refused: .*less than 5 minutes/);
    expect(await stage.home.state()).toBe('running');
    await expectUntouched(stage);
  });
});
