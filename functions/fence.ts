import { z } from 'zod';
import { minLength, nonEmptyText } from '../fencing/model/foreign-text.ts';
import { releaseNamed, statementOf } from '../app/diagnose.ts';
import { searchPorts } from '../app/search-ports.ts';
import { machineNamed, refuseUnknownMachine } from '../diagnosis/by-name.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { NamingDependencies } from './dependencies.ts';
import { type TimeLimit, withinInvocation } from './invocation.ts';
import { type ManualRunResult, runManually } from './manual-run.ts';
import type { Message } from './messages.ts';
import { outcomeJson } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { outcomeLine } from './decision-log.ts';
import { keepIncidents, triggerOf } from './incidents.ts';
import { measurementsOf } from './metrics.ts';

/**
 * A person's request to fence one machine, or to release one fence, on any cloud. The function `fence` takes both,
 * because its role may do both.
 */

/** The options of a request. Each cloud adds its field for the id of a machine. */
export const fenceRequestFields = {
  dryRun: z.boolean().default(false),
  /** A person states that the machine is off. The configuration must allow it. */
  assertOff: z.boolean().default(false),
  reason: nonEmptyText.optional(),
};

interface FenceRequest {
  readonly dryRun: boolean;
  readonly assertOff: boolean;
  readonly reason?: string | undefined;
}

/** How a cloud writes the id of a machine in a request. */
export interface FenceForm<Request extends FenceRequest> {
  /** The field that holds the id. */
  readonly field: string;
  readonly schema: z.ZodType<Request>;
  /** A valid request. */
  readonly example: string;
  readonly messageOf: (request: Request) => readonly Message[];
}

const byTarget = z.looseObject({ target: z.string() });

const parseRequest = <Request extends FenceRequest>(event: unknown, form: FenceForm<Request>): Request => {
  const reasoned = form.schema.refine(({ assertOff, reason }) => !assertOff || reason !== undefined, {
    path: ['reason'],
    error: 'assertOff requires a reason: say what you checked',
  });
  const read = reasoned.safeParse(event);
  if (read.success) return read.data;
  throw new InvalidInput(
    `the request is not valid: ${z.prettifyError(read.error)}; send ${form.example} or {"target": ` +
      '"pod/<namespace>/<name>"}',
  );
};

/** A person's statement is about one machine, so the request must contain the machine's id. */
const isVouched = z.looseObject({ assertOff: z.literal(true) });

/** Replaces the target of a request with the id of the machine to which it leads. */
const withMachine = async (
  event: unknown,
  field: string,
  dependencies: NamingDependencies,
  limit: TimeLimit,
): Promise<unknown> => {
  const asked = byTarget.safeParse(event);
  if (!asked.success) return event;
  const { target, ...wanted } = asked.data;
  if (isVouched.safeParse(event).success)
    throw new InvalidInput(`assertOff is a statement about one machine: send its id as "${field}" instead of a target`);
  if (field in wanted) throw new InvalidInput(`send "${field}" or "target", not both`);
  const { openedCloud, openClusters } = dependencies;
  const { machine } = await withinInvocation(
    dependencies,
    limit,
    () => null,
    ({ ports, deadline }) => machineNamed(target, searchPorts({ openedCloud, openClusters, ports, deadline })),
  );
  return { ...wanted, [field]: machine };
};

/**
 * Fences the machine that a person names by its id, or by `target`: a Node, pod, claim, or volume that leads to it. If
 * the request contains `release`, releases that fence instead.
 * @throws InvalidInput, before any action
 */
export const fenceOnRequest = async <Request extends FenceRequest>(
  event: unknown,
  form: FenceForm<Request>,
  dependencies: NamingDependencies,
  limit: TimeLimit,
): Promise<ManualRunResult> => {
  if (isReleaseRequest(event)) return releaseOnRequest(event, dependencies, limit);
  const request = parseRequest(await withMachine(event, form.field, dependencies, limit), form);
  const { dryRun, assertOff, reason } = request;
  const policy = { ...dependencies.policy, dryRun: dependencies.policy.dryRun || dryRun };
  const vouched = assertOff ? (reason ?? null) : null;
  const options = { policy, vouched, refuse: refuseUnknownMachine };
  return runManually(form.messageOf(request), options, dependencies, limit);
};

const releaseRequest = z.strictObject({
  /** A Node, or an object that leads to its fence: a pod, a claim, a volume, or a machine. */
  release: nonEmptyText,
  /** What the person has checked, if they confirm that the machine has booted again. */
  accept: z.string().trim().check(minLength(1)).optional(),
  dryRun: z.boolean().default(false),
});

const triggerByPerson = () => triggerOf(null, false);

const isReleaseRequest = (event: unknown): boolean => typeof event === 'object' && event !== null && 'release' in event;

const parseReleaseRequest = (event: unknown): z.infer<typeof releaseRequest> => {
  const read = releaseRequest.safeParse(event);
  if (read.success) return read.data;
  throw new InvalidInput(
    `the request is not valid: ${z.prettifyError(read.error)}; send {"release": "<node>"} or {"release": ` +
      '"pod/<namespace>/<name>"}',
  );
};

/**
 * A person's statement needs no proof, so it is accepted only if the policy allows it. Otherwise, anyone who may invoke
 * functions could end fences.
 */
const refuseVouching = (accept: string | null, { vouching }: Policy): void => {
  if (accept !== null && vouching === 'refused')
    throw new InvalidInput(
      '`accept` is a word without proof, and the configuration of the functions refuses that: use `cloudfence ' +
        'release --accept` with your own access to the cluster, or set policy.vouching to accepted',
    );
};

/**
 * Releases the fence that a person names, and answers like `cloudfence release`.
 * @throws InvalidInput, before any action
 */
const releaseOnRequest = async (
  event: unknown,
  dependencies: NamingDependencies,
  limit: TimeLimit,
): Promise<ManualRunResult> => {
  const { release: target, accept = null, dryRun } = parseReleaseRequest(event);
  refuseVouching(accept, dependencies.policy);
  const policy = { ...dependencies.policy, dryRun: dependencies.policy.dryRun || dryRun };
  const outcome = await withinInvocation(
    dependencies,
    limit,
    () => null,
    async ({ ports, deadline, logs }) => {
      const ended = await releaseNamed(target, statementOf(accept, ports), {
        ...dependencies,
        ports,
        policy,
        deadline,
      });
      dependencies.log({
        ...outcomeLine(ended, null),
        ...dependencies.formatMeasurements(measurementsOf(ended, null)),
      });
      await keepIncidents([ended], logs, triggerByPerson, dependencies, limit.getRemainingTimeInMillis());
      return ended;
    },
  );
  return outcomeJson(outcome);
};
