import { z } from 'zod';
import type { Resource, Resources } from '../objects.ts';
import { parsedBody } from './body.ts';
import type { Call } from './call.ts';
import { badRequest, deleted, notFound, preconditionFailed } from './status.ts';
import type { ApiResponse } from './wire.ts';
import { json } from './wire.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/ */
const deleteOptions = z.looseObject({
  gracePeriodSeconds: z.number().int().optional(),
  dryRun: z.array(z.string()).max(0, 'the sandbox knows no dry run').optional(),
  preconditions: z.object({ uid: z.string().optional(), resourceVersion: z.string().optional() }).optional(),
});
type DeleteOptions = z.infer<typeof deleteOptions>;
type Item = Resources[Resource];

/** Returns the options of a delete. The API server reads them from the query only if there is no body. */
const optionsOf = ({ query, request }: Call, body: unknown): DeleteOptions | string => {
  const read = deleteOptions.safeParse(body);
  if (!read.success) return `error decoding DeleteOptions: ${read.error.message}`;
  const asked = query.get('gracePeriodSeconds');
  return request.body !== '' || asked === null ? read.data : { ...read.data, gracePeriodSeconds: Number(asked) };
};

const unmet = ({ metadata }: Item, { preconditions }: DeleteOptions): string | undefined => {
  const { uid, resourceVersion } = preconditions ?? {};
  if (uid !== undefined && uid !== metadata.uid) {
    return (
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might ` +
      'have been deleted and then recreated'
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const standing = metadata.resourceVersion;
    return (
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record ` +
      `(${standing}). The object might have been modified`
    );
  }
  return undefined;
};

/** A negative grace period means the shortest one. The store computes the effective period. */
const graceOf = ({ gracePeriodSeconds: asked }: DeleteOptions): number | undefined =>
  asked !== undefined && asked < 0 ? 1 : asked;

/** Deletes the object as the options say, or returns the refusal. */
const refusalOf = (call: Call, body: unknown): ApiResponse | undefined => {
  const { server, kind, name, namespace, user } = call;
  const known = server.store.get(kind.resource, name, namespace);
  if (!known) return notFound(kind, name);
  const options = optionsOf(call, body);
  if (typeof options === 'string') return badRequest(options);
  const why = unmet(known, options);
  if (why !== undefined) return preconditionFailed(kind, name, why);
  server.store.delete(kind.resource, known, graceOf(options), { user: user.name, at: server.now() });
  const left = server.store.get(kind.resource, name, namespace);
  if (left?.metadata.resourceVersion !== known.metadata.resourceVersion) server.onWrite(kind.resource, left ?? known);
  return undefined;
};

export const deleteOne = (call: Call): ApiResponse => {
  const { server, kind, name, namespace } = call;
  const known = server.store.get(kind.resource, name, namespace);
  const refusal = refusalOf(call, parsedBody(call.request.body)?.value);
  if (refusal || !known) return refusal ?? notFound(kind, name);
  const left = server.store.get(kind.resource, name, namespace);
  return left || kind.returnsDeleted ? json(200, left ?? known) : deleted(kind, name, known.metadata.uid);
};

const eviction = z.looseObject({ deleteOptions: z.unknown().optional() });

/**
 * `kubectl drain` evicts pods. The sandbox has no PodDisruptionBudgets, so an eviction is a delete.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
 */
export const evictOne = (call: Call): ApiResponse => {
  const read = eviction.safeParse(parsedBody(call.request.body)?.value);
  if (!read.success) return badRequest(`error decoding Eviction: ${read.error.message}`);
  return (
    refusalOf(call, read.data.deleteOptions ?? {}) ??
    json(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 })
  );
};
