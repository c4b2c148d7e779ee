import { isDeepStrictEqual } from 'node:util';
import jsonPatch from 'fast-json-patch';
import { z } from 'zod';
import type { Resource, Resources } from '../objects.ts';
import { parsedBody, written } from './body.ts';
import type { Call } from './call.ts';
import { mergePatched, strategicallyMerged } from './merging.ts';
import { metadataOnly, wantsMetadataOnly } from './partial.ts';
import { badRequest, failure, invalid, notFound, patchDidNotApply, staleVersion } from './status.ts';
import { faultsOf, faultsOfUpdate } from './validate.ts';
import type { ApiResponse } from './wire.ts';
import { json } from './wire.ts';

type Item = Resources[Resource];
type Patched = { readonly object: Item } | { readonly refusal: ApiResponse };

const operations = z.array(
  z.discriminatedUnion('op', [
    z.object({ op: z.enum(['add', 'replace', 'test']), path: z.string(), value: z.unknown() }),
    z.object({ op: z.literal('remove'), path: z.string() }),
    z.object({ op: z.enum(['move', 'copy']), path: z.string(), from: z.string() }),
  ]),
);

const asItem = (value: unknown): Patched => {
  const read = written.safeParse(value);
  return read.success
    ? { object: read.data }
    : { refusal: badRequest(`the patched object is unrecognized: ${read.error.message}`) };
};

/** https://www.rfc-editor.org/rfc/rfc6902; the API server never reports which operation failed. */
const byJsonPatch = (known: Item, patch: unknown): Patched => {
  const read = operations.safeParse(patch);
  if (!read.success) return { refusal: badRequest(`error decoding patch: ${read.error.message}`) };
  try {
    return asItem(jsonPatch.applyPatch<unknown>(known, read.data, true, false).newDocument);
  } catch (error) {
    if (error instanceof jsonPatch.JsonPatchError) return { refusal: patchDidNotApply() };
    throw error;
  }
};

const patched = (call: Call, known: Item): Patched => {
  const body = parsedBody(call.request.body);
  if (!body) return { refusal: badRequest('error decoding patch: invalid character looking for beginning of value') };
  const type = (call.request.headers['content-type'] ?? '').split(';')[0]?.trim();
  if (type === 'application/json-patch+json') return byJsonPatch(known, body.value);
  if (type === 'application/merge-patch+json') return asItem(mergePatched(known, body.value));
  if (type === 'application/strategic-merge-patch+json') return asItem(strategicallyMerged(known, body.value));
  const accepted = 'application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json';
  return {
    refusal: failure(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
    ),
  };
};

/**
 * The main resource does not change the status, and the status subresource does not change the spec. Only DELETE begins
 * a deletion.
 */
const withFixedFields = (call: Call, known: Item, wanted: Item): Item => {
  const { deletionTimestamp, deletionGracePeriodSeconds, creationTimestamp } = known.metadata;
  const metadata = { ...wanted.metadata, creationTimestamp };
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  if (deletionTimestamp !== undefined) metadata.deletionTimestamp = deletionTimestamp;
  if (deletionGracePeriodSeconds !== undefined) metadata.deletionGracePeriodSeconds = deletionGracePeriodSeconds;
  const untouched = call.subresource === 'status' ? 'spec' : 'status';
  const kept = Object.fromEntries(Object.entries(known).filter(([key]) => call.kind.status && key === untouched));
  return { ...wanted, ...kept, metadata };
};

const emptyMapsGone = (object: Item): Item => {
  for (const key of ['labels', 'annotations', 'finalizers'] as const) {
    const held = object.metadata[key];
    if (held !== undefined && Object.keys(held).length === 0) delete object.metadata[key];
  }
  if ('spec' in object && 'taints' in object.spec && object.spec.taints?.length === 0) delete object.spec.taints;
  return object;
};

const refusalOf = (call: Call, known: Item, wanted: Item): ApiResponse | undefined => {
  const { kind, name } = call;
  if (wanted.metadata.name !== name)
    return badRequest(`the name of the object (${wanted.metadata.name}) does not match the name on the URL (${name})`);
  if (wanted.metadata.resourceVersion !== known.metadata.resourceVersion) return staleVersion(kind, name);
  const faults = [...faultsOfUpdate(known, wanted), ...faultsOf(wanted)];
  return faults.length > 0 ? invalid(kind, name, faults) : undefined;
};

export const patchOne = (call: Call): ApiResponse => {
  const { server, kind, name, namespace, user, request } = call;
  const answer = (object: Item): ApiResponse => json(200, wantsMetadataOnly(request) ? metadataOnly(object) : object);
  const known = server.store.get(kind.resource, name, namespace);
  if (!known) return notFound(kind, name);
  const outcome = patched(call, known);
  if ('refusal' in outcome) return outcome.refusal;
  const refusal = refusalOf(call, known, outcome.object);
  if (refusal) return refusal;
  const wanted = emptyMapsGone(withFixedFields(call, known, outcome.object));
  if (isDeepStrictEqual(wanted, known)) return answer(known);
  const left = server.store.update(kind.resource, wanted, { user: user.name, at: server.now() }) ?? wanted;
  server.onWrite(kind.resource, left);
  return answer(left);
};
