import { z } from 'zod';
import type { ReportProgress } from '../serverless/deployer.ts';
import {
  type HttpResponse,
  type Api,
  type ApiCall,
  errorStatusOf,
  errorFromResponse,
  isSuccess,
  retryUntilFinal,
  POLICY_PROPAGATION_MS,
} from './api.ts';

/**
 * The resource of a policy, and how to read it. Each API reads policies in its own way, with the requested version in
 * the query or in the body.
 */
export interface PolicyResource {
  readonly host: ApiCall['host'];
  readonly path: string;
  readonly read: 'GET' | 'POST' | 'POST with a body' | 'GET of a bucket';
}

export interface Grant {
  readonly role: string;
  readonly member: string;
}

const binding = z.looseObject({
  role: z.string(),
  members: z.array(z.string()).default([]),
  condition: z.unknown().optional(),
});
/** https://cloud.google.com/iam/docs/reference/rest/v1/Policy */
const policy = z.looseObject({ etag: z.string().optional(), bindings: z.array(binding).default([]) });

type Policy = z.infer<typeof policy>;

/** Version 3 includes conditions. A policy that is written back without them would lose them. */
const SHOWN = 3;

const readPolicyCall = ({ host, path, read }: PolicyResource): ApiCall => {
  if (read === 'POST with a body')
    return { method: 'POST', host, path: `${path}:getIamPolicy`, body: { options: { requestedPolicyVersion: SHOWN } } };
  if (read === 'GET of a bucket')
    return { method: 'GET', host, path: `${path}/iam?optionsRequestedPolicyVersion=${SHOWN}` };
  return { method: read, host, path: `${path}:getIamPolicy?options.requestedPolicyVersion=${SHOWN}` };
};

/** https://cloud.google.com/storage/docs/json_api/v1/buckets/setIamPolicy */
const writePolicyCall = ({ host, path, read }: PolicyResource, changed: Policy): ApiCall => {
  const written = { ...changed, version: SHOWN };
  return read === 'GET of a bucket'
    ? { method: 'PUT', host, path: `${path}/iam`, body: written }
    : { method: 'POST', host, path: `${path}:setIamPolicy`, body: { policy: written } };
};

const isUnconditional = ({ role, condition }: Policy['bindings'][number], wanted: string): boolean =>
  role === wanted && condition === undefined;

const withGrant = ({ bindings, ...rest }: Policy, { role, member }: Grant): Policy => {
  const there = bindings.find((one) => isUnconditional(one, role));
  if (!there) return { ...rest, bindings: [...bindings, { role, members: [member] }] };
  return {
    ...rest,
    bindings: bindings.map((one) =>
      one === there ? { ...one, members: [...new Set([...one.members, member])] } : one,
    ),
  };
};

const withoutMembers = ({ bindings, ...rest }: Policy, members: readonly string[]): Policy => ({
  ...rest,
  bindings: bindings
    .map((one) => ({ ...one, members: one.members.filter((other) => !members.includes(other)) }))
    .filter((one) => one.members.length > 0),
});

const hasGrant = ({ bindings }: Policy, { role, member }: Grant): boolean =>
  bindings.some((one) => isUnconditional(one, role) && one.members.includes(member));

interface PolicyChange {
  readonly isDone: (policy: Policy) => boolean;
  readonly change: (policy: Policy) => Policy;
  /** Reports whether a later answer may be different. */
  readonly mayPass: (answer: HttpResponse, call: ApiCall) => boolean;
}

const NOTHING_TO_DO: HttpResponse = { status: 204, body: {} };

/**
 * Makes only the wanted change, even if someone else writes the policy at the same time: it reads the policy again
 * before each write.
 */
const changePolicy = async (
  api: Api,
  guarded: PolicyResource,
  { isDone, change, mayPass }: PolicyChange,
): Promise<HttpResponse> => {
  let call = readPolicyCall(guarded);
  const attempt = async (): Promise<HttpResponse> => {
    call = readPolicyCall(guarded);
    const read = await api.ask(call);
    if (!isSuccess(read)) return read;
    const present = policy.parse(read.body);
    if (isDone(present)) return NOTHING_TO_DO;
    call = writePolicyCall(guarded, change(present));
    return api.ask(call);
  };
  const answer = await retryUntilFinal(api, attempt, {
    mayPass: (one) => !isSuccess(one) && (wasWrittenMeanwhile(one) || mayPass(one, call)),
    within: POLICY_PROPAGATION_MS,
  });
  if (isSuccess(answer) || isGone(answer)) return answer;
  throw errorFromResponse(call, answer);
};

/** Reports whether Google itself, not a proxy, says that the resource is gone. */
const isGone = (answer: HttpResponse): boolean => answer.status === 404 && errorStatusOf(answer) === 'NOT_FOUND';

/** Reports whether someone else wrote the policy between this read and this write. */
const wasWrittenMeanwhile = ({ status }: HttpResponse): boolean => status === 409 || status === 412;

/**
 * Reports whether the install did not make the resource. If a project or a secret is not found, waiting does not help,
 * because it is not new.
 */
const isNotOfInstall = ({ host }: PolicyResource): boolean => host === 'projects' || host === 'secrets';

/** Retries while a new account or a new resource may be unknown, which can last some minutes. */
const mayBecomeKnown =
  (guarded: PolicyResource) =>
  ({ status }: HttpResponse, { method, path }: ApiCall): boolean =>
    status === 404 ? !isNotOfInstall(guarded) : status === 400 && (method === 'PUT' || path.endsWith(':setIamPolicy'));

const throwUnlessFound = (guarded: PolicyResource, answer: HttpResponse): void => {
  if (!isSuccess(answer)) throw errorFromResponse(readPolicyCall(guarded), answer);
};

/** Returns true if the grant is new. */
export const addGrant = async (
  api: Api,
  guarded: PolicyResource,
  wanted: Grant,
  say: ReportProgress,
): Promise<boolean> => {
  const answer = await changePolicy(api, guarded, {
    isDone: (present) => hasGrant(present, wanted),
    change: (present) => withGrant(present, wanted),
    mayPass: mayBecomeKnown(guarded),
  });
  throwUnlessFound(guarded, answer);
  if (answer === NOTHING_TO_DO) return false;
  say(`${wanted.role} on ${guarded.path}: granted to ${wanted.member}`);
  return true;
};

/** Revokes everything that these members have on the resource. A resource that is gone grants nothing. */
export const revokeMembers = async (
  api: Api,
  guarded: PolicyResource,
  members: readonly string[],
  say: ReportProgress,
): Promise<void> => {
  const isOut = ({ bindings }: Policy): boolean =>
    bindings.every((one) => one.members.every((member) => !members.includes(member)));
  const answer = await changePolicy(api, guarded, {
    isDone: isOut,
    change: (present) => withoutMembers(present, members),
    mayPass: () => false,
  });
  if (isGone(answer)) say(`${guarded.path}: does not exist any more`);
  else if (answer !== NOTHING_TO_DO) say(`${guarded.path}: all grants to ${members.join(', ')} removed`);
};

/**
 * Gives this role to these members and removes all other bindings, because someone may have granted access to everyone.
 */
export const setOnlyMembers = async (
  api: Api,
  guarded: PolicyResource,
  role: string,
  members: readonly string[],
  say: ReportProgress,
): Promise<void> => {
  const wanted = members.length === 0 ? [] : [{ role, members: members.toSorted() }];
  const isAsWanted = ({ bindings }: Policy): boolean =>
    JSON.stringify(bindings.map(({ role: one, members: of }) => ({ role: one, members: of.toSorted() }))) ===
    JSON.stringify(wanted);
  const answer = await changePolicy(api, guarded, {
    isDone: isAsWanted,
    change: (present) => ({ ...present, bindings: wanted }),
    mayPass: mayBecomeKnown(guarded),
  });
  throwUnlessFound(guarded, answer);
  if (answer !== NOTHING_TO_DO)
    say(`${guarded.path}: callers are now ${members.join(', ') || 'only those that the project allows'}`);
};
