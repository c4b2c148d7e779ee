import { afterEach, expect, it, vi } from 'vitest';
import { Refused } from '../../fencing/model/errors.ts';
import { lambdaHandler } from '../../functions/aws/lambda.ts';
import { memoized } from '../../functions/dependencies.ts';
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

it('what a process opens once is opened again only after a failure', async () => {
  const open = vi
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new Refused('no token'))
    .mockResolvedValue('opened');
  const opened = memoized(open);
  await expect(opened()).rejects.toThrow('no token');
  expect([await opened(), await opened()]).toEqual(['opened', 'opened']);
  expect(open).toHaveBeenCalledTimes(2);
});

afterEach(() => vi.restoreAllMocks());

it('an unexpected error is one sentence for the caller, and its stack is only in the log', async () => {
  const logged = vi.spyOn(console, 'log').mockReturnValue();
  const bug = new TypeError('x is not a function\nAuthorization: Bearer secret');
  const answer: unknown = await lambdaHandler(() => Promise.reject(bug))(
    {},
    { getRemainingTimeInMillis: () => 1 },
  ).catch((error: unknown) => error);
  expect(answer).toMatchObject({
    name: 'TypeError',
    message: 'Cloudfence failed unexpectedly (TypeError: x is not a function): see the log of the function',
    stack: '',
  });
  expect(logged.mock.calls.join('')).toContain('invocation.test.ts');
});
