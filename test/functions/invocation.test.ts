import { expect, it } from 'vitest';
import { withinInvocation } from '../../functions/invocation.ts';
import { stopped } from '../simulation/incidents.ts';
import { installOver } from './install.ts';

it.each([
  ['well', async () => undefined],
  ['badly', () => Promise.reject(new Error('badly'))],
])('calls in flight are aborted before an invocation ends, be it %s', async (_, end) => {
  const { dependencies, context } = installOver(stopped().world);
  const signals: AbortSignal[] = [];
  const invocation = withinInvocation(
    dependencies,
    context(),
    () => null,
    async ({ ports }) => {
      signals.push(ports.signal);
      expect(ports.signal.aborted).toBe(false);
      return end();
    },
  );
  await Promise.allSettled([invocation]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

it('the runs of an invocation end three seconds before the platform ends the process', async () => {
  const { dependencies } = installOver(stopped().world);
  const begins = dependencies.ports.clock.now().mono;
  const limit = { getRemainingTimeInMillis: () => 60_000 };
  const deadline = await withinInvocation(
    dependencies,
    limit,
    () => null,
    async (invocation) => invocation.deadline,
  );
  expect(deadline - begins).toBe(57_000);
});
