import { z } from 'zod';
import { releaseNamed } from '../config/release.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import { outcomeJson } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { outcomeLine } from './decision-log.ts';
import type { NamingDependencies } from './dependencies.ts';
import { type ManualRunResult, type TimeLimit, withinInvocation } from './invocation.ts';
import { keepIncidents, occasionOf } from './keep-incidents.ts';
import { measurementsOf } from './metrics.ts';

/** A person's request to release one fence, on any cloud. The function `fence` takes it, because its role may do so. */

const releaseRequest = z.strictObject({
  /** A Node, or what leads to its fence: a pod, a claim, a volume, or a machine. */
  release: z.string().min(1),
  /** What a person has checked, who vouches that the machine has booted again. */
  accept: z.string().trim().min(1).optional(),
  dryRun: z.boolean().default(false),
});

const byPerson = () => occasionOf(null, false);

export const isReleaseRequest = (event: unknown): boolean =>
  typeof event === 'object' && event !== null && 'release' in event;

const parseRequest = (event: unknown): z.infer<typeof releaseRequest> => {
  const read = releaseRequest.safeParse(event);
  if (read.success) return read.data;
  throw new InvalidInput(
    `the request is not valid: ${z.prettifyError(read.error)}; send {"release": "<node>"} or {"release": "pod/<namespace>/<name>"}`,
  );
};

/**
 * A person's word needs no proof, so it counts here only where the policy accepts one. Whoever may only invoke functions
 * may otherwise end fences.
 */
const refuseVouching = (accept: string | null, { vouching }: Policy): void => {
  if (accept !== null && vouching === 'refused')
    throw new InvalidInput(
      '`accept` is a word without proof, and the configuration of the functions refuses that: use `cloudfence release --accept` with your own access to the cluster, or set policy.vouching to accepted',
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
  refuseVouching(accept, dependencies.policy);
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
