import { z } from 'zod';
import type { Say } from '../serverless/deployer.ts';
import { failureOf, isGood, type Api, type Call } from './api.ts';

/** Whose policy it is, and how it is read: each API has its own way, with the version to be shown in the query or the body. */
export interface Guarded {
  readonly host: Call['host'];
  readonly path: string;
  readonly read: 'GET' | 'POST' | 'POST with a body';
}

export interface Grant {
  readonly role: string;
  readonly member: string;
}

const binding = z.looseObject({ role: z.string(), members: z.array(z.string()).default([]), condition: z.unknown().optional() });
/** https://cloud.google.com/iam/docs/reference/rest/v1/Policy */
const policy = z.looseObject({ etag: z.string().optional(), bindings: z.array(binding).default([]) });

type Policy = z.infer<typeof policy>;

const TRIES = 8;
const BETWEEN_MS = 2_000;
/** Version 3 shows conditions; a policy that is written back without them would lose them. */
const SHOWN = 3;

const readPolicy = async (api: Api, { host, path, read }: Guarded): Promise<Policy> => {
  if (read === 'POST with a body') return policy.parse(await api.call({ method: 'POST', host, path: `${path}:getIamPolicy`, body: { options: { requestedPolicyVersion: SHOWN } } }));
  return policy.parse(await api.call({ method: read, host, path: `${path}:getIamPolicy?options.requestedPolicyVersion=${SHOWN}` }));
};

const isOurs = ({ role, condition }: Policy['bindings'][number], wanted: string): boolean => role === wanted && condition === undefined;

const including = ({ bindings, ...rest }: Policy, { role, member }: Grant): Policy => {
  const there = bindings.find((one) => isOurs(one, role));
  if (!there) return { ...rest, bindings: [...bindings, { role, members: [member] }] };
  return { ...rest, bindings: bindings.map((one) => (one === there ? { ...one, members: [...new Set([...one.members, member])] } : one)) };
};

const without = ({ bindings, ...rest }: Policy, { role, member }: Grant): Policy => ({
  ...rest,
  bindings: bindings.map((one) => (isOurs(one, role) ? { ...one, members: one.members.filter((other) => other !== member) } : one)).filter(({ members }) => members.length > 0),
});

const holds = ({ bindings }: Policy, { role, member }: Grant): boolean => bindings.some((one) => isOurs(one, role) && one.members.includes(member));

/** Changes nothing but that, whoever else writes the policy meanwhile. An account that was made just now may be unknown for some seconds. */
const rewritten = async (api: Api, guarded: Guarded, isDone: (policy: Policy) => boolean, change: (policy: Policy) => Policy): Promise<boolean> => {
  const call = { method: 'POST', host: guarded.host, path: `${guarded.path}:setIamPolicy` } as const;
  for (let tries = 1; ; tries += 1) {
    const present = await readPolicy(api, guarded);
    if (isDone(present)) return false;
    const answer = await api.ask({ ...call, body: { policy: { ...change(present), version: SHOWN } } });
    if (isGood(answer)) return true;
    if (![400, 404, 409].includes(answer.status) || tries === TRIES) throw failureOf(call, answer);
    await api.wait(BETWEEN_MS);
  }
};

export const grant = async (api: Api, guarded: Guarded, wanted: Grant, say: Say): Promise<void> => {
  const changed = await rewritten(api, guarded, (present) => holds(present, wanted), (present) => including(present, wanted));
  if (changed) say(`${wanted.role} on ${guarded.path}: granted to ${wanted.member}`);
};

export const revoke = async (api: Api, guarded: Guarded, unwanted: Grant, say: Say): Promise<void> => {
  const changed = await rewritten(api, guarded, (present) => !holds(present, unwanted), (present) => without(present, unwanted));
  if (changed) say(`${unwanted.role} on ${guarded.path}: taken from ${unwanted.member}`);
};

/** This role for these members, and nothing for anybody else: somebody may have let everybody in. */
export const restrict = async (api: Api, guarded: Guarded, role: string, members: readonly string[], say: Say): Promise<void> => {
  const wanted = members.length === 0 ? [] : [{ role, members: members.toSorted() }];
  const isAsWanted = ({ bindings }: Policy): boolean => JSON.stringify(bindings.map(({ role: one, members: of }) => ({ role: one, members: of.toSorted() }))) === JSON.stringify(wanted);
  const changed = await rewritten(api, guarded, isAsWanted, (present) => ({ ...present, bindings: wanted }));
  if (changed) say(`${guarded.path}: may be called by ${members.join(', ') || 'nobody but those whom the project lets'}`);
};
