import type { ApiCall } from '../../../infra/gcp/api.ts';
import { isBindable } from './role-stages.ts';

/** The content of a project, as its management APIs show it: everything by its path, and the policy of each. */

export type Fields = Record<string, unknown>;

export interface Store {
  readonly objects: Map<string, Fields>;
  readonly policies: Map<string, { etag: string; bindings: readonly { role: string; members: readonly string[] }[] }>;
  readonly operations: Map<string, { polls: number; readonly finish: () => void }>;
  readonly uploads: Map<string, Buffer>;
  serial: number;
  /** Virtual ms, and when each resource was created. */
  now: number;
  readonly born: Map<string, number>;
  /**
   * How long (ms) a new resource is unknown elsewhere: a new account to the policies of others, a new metric to Cloud
   * Monitoring.
   */
  delays: { readonly account: number; readonly grant: number; readonly metric: number; readonly service: number };
  /** When each member last got a permission in the project. */
  readonly grantedAt: Map<string, number>;
  /**
   * When each custom role was deleted, and whether a role is listed that is gone but whose ID is not free. Google does
   * not say this.
   */
  readonly deletedRoles: Map<string, number>;
  showsPurged: boolean;
  /** Enabled APIs, and since when. */
  readonly services: Map<string, number>;
  /** The caller's permissions. Null for all. */
  granted: ReadonlySet<string> | null;
  /** Something in between answers instead, with an HTML page and 404. */
  proxied: boolean;
  /** Regions that do not answer. */
  unreachable: readonly string[];
  /** How often someone else writes a policy between our read and our write. */
  races: number;
}

export const PROJECT = 'my-project';
export const PROJECT_NUMBER = '123456789012';

const ON = [
  'artifactregistry',
  'cloudbuild',
  'cloudfunctions',
  'cloudresourcemanager',
  'cloudscheduler',
  'compute',
  'container',
  'iam',
  'logging',
  'monitoring',
  'pubsub',
  'run',
  'secretmanager',
  'storage',
];

export const emptyStore = (): Store => ({
  objects: new Map([
    [`projects/${PROJECT}`, { projectId: PROJECT, projectNumber: PROJECT_NUMBER }],
    [`projects/${PROJECT}/secrets/prod-kubeconfig`, { name: `projects/${PROJECT_NUMBER}/secrets/prod-kubeconfig` }],
  ]),
  policies: new Map([
    [`projects/${PROJECT}`, { etag: 'e0', bindings: [{ role: 'roles/owner', members: ['user:owner@example.org'] }] }],
  ]),
  operations: new Map(),
  uploads: new Map(),
  serial: 0,
  now: 0,
  born: new Map(),
  delays: { account: 0, grant: 0, metric: 0, service: 0 },
  grantedAt: new Map(),
  deletedRoles: new Map(),
  showsPurged: false,
  services: new Map(ON.map((name) => [`${name}.googleapis.com`, -Infinity])),
  granted: null,
  proxied: false,
  unreachable: [],
  races: 0,
});

export interface Reply {
  readonly status: number;
  readonly body: Fields;
}

/** https://cloud.google.com/apis/design/errors#handling_errors */
const codes: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ALREADY_EXISTS',
};

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly Fields[];
  constructor(status: number, message: string, code = codes[status] ?? 'UNKNOWN', details: readonly Fields[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export const nothing = (path: string): Problem => new Problem(404, `${path} was not found`);

export const objectAt = (store: Store, path: string): Fields => {
  const object = store.objects.get(path);
  if (!object) throw nothing(path);
  return object;
};

export const make = (store: Store, path: string, object: Fields): Fields => {
  if (store.objects.has(path)) throw new Problem(409, `${path} exists already`);
  store.objects.set(path, object);
  store.born.set(path, store.now);
  return object;
};

export const drop = (store: Store, path: string): Fields => {
  objectAt(store, path);
  store.objects.delete(path);
  store.policies.delete(path);
  return {};
};

export const replaced = (store: Store, path: string, object: Fields): Fields => {
  store.objects.set(path, object);
  return object;
};

export const next = (store: Store): string => String((store.serial += 1));

/** Accounts of this project have to exist before a policy can name them. */
const isKnown = (store: Store, member: string): boolean => {
  const [, email = ''] = /^serviceAccount:(.+)$/.exec(member) ?? [];
  return !email.endsWith(`@${PROJECT}.iam.gserviceaccount.com`) || isOld(store, email);
};

/** The resource exists, and has existed long enough for others to know it. */
const isOld = (store: Store, email: string): boolean => {
  const path = `projects/${PROJECT}/serviceAccounts/${email}`;
  return store.objects.has(path) && store.now - (store.born.get(path) ?? -Infinity) >= store.delays.account;
};

/** What other services see: the account does not exist, or the caller may not act as it. Both have the same answer. */
export const accountAt = (store: Store, email: string): void => {
  if (!isOld(store, email))
    throw new Problem(403, `The principal lacks iam.serviceAccounts.actAs on ${email} (or it may not exist).`);
};

export const policyOf = (store: Store, path: string) => {
  objectAt(store, path);
  return store.policies.get(path) ?? { etag: 'e0', bindings: [] };
};

const lose = (store: Store, path: string): never => {
  store.races -= 1;
  const { bindings } = policyOf(store, path);
  store.policies.set(path, {
    etag: `e${next(store)}`,
    bindings: [...bindings, { role: `roles/other${store.serial}`, members: ['user:somebody@example.org'] }],
  });
  throw new Problem(409, 'there were concurrent policy changes', 'ABORTED');
};

type Bindings = readonly { readonly role: string; readonly members: readonly string[] }[];

const noteGrants = (store: Store, before: Bindings, after: Bindings): void => {
  const had = new Set(before.flatMap(({ role, members }) => members.map((member) => `${role} ${member}`)));
  for (const { role, members } of after)
    for (const member of members) if (!had.has(`${role} ${member}`)) store.grantedAt.set(member, store.now);
};

export const setPolicy = (
  store: Store,
  path: string,
  {
    etag,
    bindings = [],
  }: { etag?: string | undefined; bindings?: readonly { role: string; members: readonly string[] }[] },
): Fields => {
  const present = policyOf(store, path);
  if (store.races > 0) return lose(store, path);
  if (etag !== present.etag) throw new Problem(409, 'there were concurrent policy changes', 'ABORTED');
  const stranger = bindings.flatMap(({ members }) => members).find((member) => !isKnown(store, member));
  if (stranger !== undefined) throw new Problem(400, `${stranger} does not exist`);
  const dead = bindings.find(({ role }) => !isBindable(store, role));
  if (dead !== undefined) throw new Problem(400, `Role ${dead.role} does not exist in the resource's hierarchy.`);
  const policy = { etag: `e${next(store)}`, bindings };
  if (path === `projects/${PROJECT}`) noteGrants(store, present.bindings, bindings);
  store.policies.set(path, policy);
  return policy;
};

/**
 * The part of the body that the mask names, one level deep, as in all our calls. A field that the mask names and the
 * body lacks is cleared.
 */
export const masked = (object: Fields, body: Fields, mask: string): Fields => {
  const named = mask.split(',');
  const kept = Object.entries(object).filter(([field]) => !named.includes(field));
  return Object.fromEntries([
    ...kept,
    ...named.flatMap((field): [string, unknown][] => (body[field] === undefined ? [] : [[field, body[field]]])),
  ]);
};

export type Verb = ApiCall['method'];
