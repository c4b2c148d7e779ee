import { z } from 'zod';
import type { Route } from './routes.ts';
import { stageOf } from './role-stages.ts';
import { drop, make, masked, objectAt, Problem, PROJECT, replaced, type Fields, type Store } from './store.ts';

/** Service accounts and custom roles of IAM. */

const text = z.string().min(1);
const fields = z.record(z.string(), z.unknown());

const accounts: Route = (store, { verb, path, body }) => {
  if (verb === 'POST' && path.endsWith('/serviceAccounts')) {
    // https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/create
    const email = `${z
      .string()
      .regex(/^[a-z](?:[-a-z0-9]{4,28}[a-z0-9])$/)
      .parse(body['accountId'])}@${PROJECT}.iam.gserviceaccount.com`;
    return make(store, `${path}/${email}`, {
      name: `${path}/${email}`,
      email,
      ...fields.parse(body['serviceAccount']),
    });
  }
  if (verb === 'PATCH' && path.includes('/serviceAccounts/'))
    return replaced(
      store,
      path,
      masked(objectAt(store, path), fields.parse(body['serviceAccount']), text.parse(body['updateMask'])),
    );
  return verb === 'DELETE' && path.includes('/serviceAccounts/') ? drop(store, path) : null;
};

const blocked = (what: string): Problem => new Problem(400, what, 'FAILED_PRECONDITION');

const created = (store: Store, path: string, body: Fields): Fields => {
  const roleId = z
    .string()
    .regex(/^[\w.]{3,64}$/)
    .parse(body['roleId']);
  const name = `${path}/${roleId}`;
  const stage = stageOf(store, name);
  if (stage === 'alive') throw new Problem(409, `A role named ${roleId} in ${path} already exists.`);
  if (stage !== 'free') throw blocked(`You can't create a role_id (${roleId}) which has been marked for deletion.`);
  store.deletedRoles.delete(name);
  return replaced(store, name, { name, ...fields.parse(body['role']) });
};

const restoreRole = (store: Store, name: string): Fields => {
  const stage = stageOf(store, name);
  if (stage === 'alive' || stage === 'purged')
    throw blocked(
      `You can't undelete role_id (${name}) as it is ${stage === 'alive' ? 'not deleted' : 'being removed'}.`,
    );
  const role = objectAt(store, name);
  store.deletedRoles.delete(name);
  return role;
};

const listed = (store: Store, path: string, query: URLSearchParams): Fields => {
  const names = [...store.objects.keys()].filter((name) => name.startsWith(`${path}/`));
  const shown = names.filter(
    (name) =>
      stageOf(store, name) === 'alive' ||
      (query.get('showDeleted') === 'true' &&
        (stageOf(store, name) === 'deleted' || (store.showsPurged && stageOf(store, name) === 'purged'))),
  );
  return {
    roles: shown.map((name) => ({
      ...store.objects.get(name),
      ...(stageOf(store, name) !== 'alive' && { deleted: true }),
    })),
  };
};

const roles: Route = (store, { verb, path, query, body }) => {
  if (path.endsWith('/roles')) return verb === 'POST' ? created(store, path, body) : listed(store, path, query);
  if (!path.includes('/roles/')) return null;
  const name = path.replace(':undelete', '');
  if (verb === 'POST' && path !== name) return restoreRole(store, name);
  const role = objectAt(store, name);
  if (verb === 'GET') return { ...role, ...(stageOf(store, name) !== 'alive' && { deleted: true }) };
  if (stageOf(store, name) !== 'alive')
    throw blocked(`You can't ${verb === 'DELETE' ? 'delete' : 'update'} role_id (${name}) as it is already deleted.`);
  if (verb === 'PATCH') return replaced(store, name, masked(role, body, query.get('updateMask') ?? ''));
  store.deletedRoles.set(name, store.now);
  return { ...role, deleted: true };
};

export const identities: Route = (store, request) => accounts(store, request) ?? roles(store, request);
