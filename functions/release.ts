import { z } from 'zod';
import { releaseNamed } from '../config/release.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import { outcomeJson } from '../fencing/model/outcome.ts';
import { outcomeLine } from './decision-log.ts';
import type { NamingDependencies } from './dependencies.ts';
import { type ManualRunResult, type TimeLimit, withinInvocation } from './invocation.ts';
import { keepIncidents, occasionOf } from './keep-incidents.ts';
import { measurementsOf } from './metrics.ts';

/** A person's request to release one fence, on any cloud. The function `fence` takes it, because its role may do so. */

const request = z.strictObject({
  /** A Node, or what leads to its fence: a pod, a claim, a volume, or a machine. */
  release: z.string().min(1),
  /** What a person has checked, who vouches that the machine has booted again. */
  accept: z.string().trim().min(1).optional(),
  dryRun: z.boolean().default(false),
});

const byPerson = () => occasionOf(null, false);

export const isReleaseRequest = (event: unknown): boolean =>
  typeof event === 'object' && event !== null && 'release' in event;

const parseRequest = (event: unknown): z.infer<typeof request> => {
  const read = request.safeParse(event);
  if (read.success) return read.data;
  throw new InvalidInput(
    `the request is not valid: ${z.prettifyError(read.error)}; send {"release": "<node>"} or {"release": "pod/<namespace>/<name>"}`,
  );
};

/**
 * Releases the fence that a person names, and answers as `cloudfence release` does.
 * @throws InvalidInput, before any action
 */
export const releaseOnRequest = async (
  event: unknown,
  dependencies: NamingDependencies,
  limit: TimeLimit,
): Promise<ManualRunResult> => {
  const { release: target, accept = null, dryRun } = parseRequest(event);
  const policy = { ...dependencies.policy, dryRun: dependencies.policy.dryRun || dryRun };
  const outcome = await withinInvocation(
    dependencies,
    limit,
    () => null,
    async ({ ports, deadline, logs }) => {
      const ended = await releaseNamed(target, accept, { ...dependencies, ports, policy, deadline });
      dependencies.log({
        ...outcomeLine(ended, null),
        ...dependencies.formatMeasurements(measurementsOf(ended, null)),
      });
      await keepIncidents([ended], logs, byPerson, dependencies, limit.getRemainingTimeInMillis());
      return ended;
    },
  );
  return outcomeJson(outcome);
};
