import { z } from 'zod';
import { searchPorts } from '../config/diagnose.ts';
import { machineNamed } from '../diagnosis/machine-named.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { NamingDependencies } from './dependencies.ts';
import { type ManualRunResult, runManually, type TimeLimit, withinInvocation } from './invocation.ts';
import type { Message } from './messages.ts';
import { isReleaseRequest, releaseOnRequest } from './release.ts';

/** A person's request to fence one machine, on any cloud. */

/** The options of a request. Each cloud adds the field that holds the id of a machine. */
export const fenceRequestFields = {
  dryRun: z.boolean().default(false),
  /** A person vouches that the machine is off. The configuration must allow it. */
  assertOff: z.boolean().default(false),
  reason: z.string().min(1).optional(),
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
    `the request is not valid: ${z.prettifyError(read.error)}; send ${form.example} or {"target": "pod/<namespace>/<name>"}`,
  );
};

/** A person's word is about one machine, so the machine is named by its id. */
const isVouched = z.looseObject({ assertOff: z.literal(true) });

/** Replaces the target of a request by the id of the machine that it leads to. */
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
    throw new InvalidInput(`assertOff is your word about one machine: send its id as "${field}" instead of a target`);
  if (field in wanted) throw new InvalidInput(`send "${field}" or "target", not both`);
  const { openedCloud, openClusters } = dependencies;
  const { machine } = await withinInvocation(
    dependencies,
    limit,
    () => null,
    ({ ports }) => machineNamed(target, searchPorts({ openedCloud, openClusters, ports })),
  );
  return { ...wanted, [field]: machine };
};

/**
 * Fences the machine that a person names by its id, or by `target`: a Node, pod, claim, or volume that leads to it.
 * Releases the fence that `release` names instead.
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
  return runManually(form.messageOf(request), { policy, vouched }, dependencies, limit);
};
