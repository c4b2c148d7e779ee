import type { Call } from '../../../infra/gcp/api.ts';

/** What a project holds, as its management APIs tell it: everything by its path, and the policy of each. */

export type Fields = Record<string, unknown>;

export interface Store {
  readonly objects: Map<string, Fields>;
  readonly policies: Map<string, { etag: string; bindings: readonly { role: string; members: readonly string[] }[] }>;
  readonly operations: Map<string, { polls: number; readonly finish: () => void }>;
  readonly uploads: Map<string, Buffer>;
  serial: number;
  /** Virtual ms, and when each thing was made. */
  now: number;
  readonly born: Map<string, number>;
  /** How long (ms) what was just made is unknown elsewhere: a new account to the policies of others, a new metric to Cloud Monitoring. */
  delays: { readonly account: number; readonly metric: number };
  /** As often as this, somebody else writes a policy between a reading and a writing of ours. */
  races: number;
}

export const PROJECT = 'my-project';
export const PROJECT_NUMBER = '123456789012';

export const emptyStore = (): Store => ({
  objects: new Map([
    [`projects/${PROJECT}`, { projectId: PROJECT, projectNumber: PROJECT_NUMBER }],
    [`projects/${PROJECT}/secrets/prod-kubeconfig`, { name: `projects/${PROJECT_NUMBER}/secrets/prod-kubeconfig` }],
  ]),
  policies: new Map([[`projects/${PROJECT}`, { etag: 'e0', bindings: [{ role: 'roles/owner', members: ['user:owner@example.org'] }] }]]),
  operations: new Map(),
  uploads: new Map(),
  serial: 0,
  now: 0,
  born: new Map(),
  delays: { account: 0, metric: 0 },
  races: 0,
});

export interface Reply {
  readonly status: number;
  readonly body: Fields;
}

export class Problem extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
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

export const next = (store: Store): string => String((store.serial += 1));

/** Accounts of this project have to be there before they can be named. */
const isKnown = (store: Store, member: string): boolean => {
  const [, email = ''] = /^serviceAccount:(.+)$/.exec(member) ?? [];
  return !email.endsWith(`@${PROJECT}.iam.gserviceaccount.com`) || store.objects.has(`projects/${PROJECT}/serviceAccounts/${email}`);
};

export const policyOf = (store: Store, path: string) => {
  objectAt(store, path);
  return store.policies.get(path) ?? { etag: 'e0', bindings: [] };
};

const lose = (store: Store, path: string): never => {
  store.races -= 1;
  const { bindings } = policyOf(store, path);
  store.policies.set(path, { etag: `e${next(store)}`, bindings: [...bindings, { role: `roles/other${store.serial}`, members: ['user:somebody@example.org'] }] });
  throw new Problem(409, 'there were concurrent policy changes');
};

export const setPolicy = (store: Store, path: string, { etag, bindings = [] }: { etag?: string | undefined; bindings?: readonly { role: string; members: readonly string[] }[] }): Fields => {
  const present = policyOf(store, path);
  if (store.races > 0) return lose(store, path);
  if (etag !== present.etag) throw new Problem(409, 'there were concurrent policy changes');
  const stranger = bindings.flatMap(({ members }) => members).find((member) => !isKnown(store, member));
  if (stranger !== undefined) throw new Problem(400, `${stranger} does not exist`);
  const policy = { etag: `e${next(store)}`, bindings };
  store.policies.set(path, policy);
  return policy;
};

/** What of the body the mask names, one level deep: all that our calls mask by. What it names and the body lacks is cleared. */
export const masked = (object: Fields, body: Fields, mask: string): Fields => {
  const named = mask.split(',');
  const kept = Object.entries(object).filter(([field]) => !named.includes(field));
  return Object.fromEntries([...kept, ...named.flatMap((field): [string, unknown][] => (body[field] === undefined ? [] : [[field, body[field]]]))]);
};

export type Verb = Call['method'];
