import { z } from 'zod';
import type { Resource, Resources } from '../objects.ts';
import type { Draft } from '../store.ts';
import type { Arriving } from './body.ts';
import { arriving, parsedBody } from './body.ts';
import type { Call } from './call.ts';
import type { ServedKind } from './kinds.ts';
import { apiVersionOf } from './kinds.ts';
import { alreadyExists, badRequest, invalid } from './status.ts';
import { faultsOf } from './validate.ts';
import type { ApiResponse } from './wire.ts';
import { json } from './wire.ts';

/**
 * Five letters as the API server would generate them, but the same in every run, because they come from the store's own
 * counter.
 */
const suffix = (call: Call): string => {
  const { revision, uids } = call.server.store.state;
  return ((revision * 31 + uids * 7919) % 36 ** 5).toString(36).padStart(5, '0');
};

const statusAtBirth = (kind: ServedKind, draft: Arriving): object => {
  switch (kind.kind) {
    case 'Pod':
      return { phase: 'Pending' };
    case 'VolumeAttachment':
      return { attached: false };
    default:
      return kind.bornWithoutStatus ? {} : 'status' in draft ? (draft.status ?? {}) : {};
  }
};

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' } as const;
const taintsIn = z.looseObject({ taints: z.array(z.looseObject({ key: z.string(), effect: z.string() })).default([]) });

/** The admission plugin TaintNodesByCondition taints every new Node until the Node is ready. */
const notReadyYet = (spec: object): object => {
  const { taints } = taintsIn.parse(spec);
  const tainted = taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect);
  return { ...spec, taints: tainted ? taints : [...taints, NOT_READY] };
};

const specAtBirth = (kind: ServedKind, draft: Arriving): object => {
  const given = 'spec' in draft && typeof draft.spec === 'object' ? draft.spec : null;
  if (kind.kind === 'Node') return { spec: notReadyYet(given ?? {}) };
  if (given === null) return {};
  return kind.kind === 'Pod' ? { spec: { terminationGracePeriodSeconds: 30, ...given } } : { spec: given };
};

const born = (call: Call, draft: Arriving): Draft<Resources[Resource]> => {
  const { kind, namespace } = call;
  const { generateName, ...metadata } = draft.metadata;
  const name = metadata.name ?? (generateName === undefined ? '' : `${generateName}${suffix(call)}`);
  return {
    ...draft,
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { ...metadata, name, ...(kind.namespaced && { namespace }) },
    ...specAtBirth(kind, draft),
    ...(kind.status && { status: statusAtBirth(kind, draft) }),
  };
};

const NAMELESS = {
  reason: 'FieldValueRequired',
  message: 'Required value: name or generateName is required',
  field: 'metadata.name',
};

export const createOne = (call: Call): ApiResponse => {
  const { server, kind, user } = call;
  const draft = arriving.safeParse(parsedBody(call.request.body)?.value);
  if (!draft.success)
    return badRequest(`the object provided is unrecognized: ${draft.error.issues[0]?.message ?? 'not JSON'}`);
  if (kind.namespaced && call.namespace === '') return badRequest('an empty namespace may not be set during creation');
  const object = born(call, draft.data);
  const { name } = object.metadata;
  if (name === '') return invalid(kind, '', [NAMELESS]);
  const faults = faultsOf({
    ...object,
    metadata: { ...object.metadata, uid: '', resourceVersion: '', creationTimestamp: '' },
  });
  if (faults.length > 0) return invalid(kind, name, faults);
  const created = server.store.create(kind.resource, object, { user: user.name, at: server.now() });
  if (!created) return alreadyExists(kind, name);
  server.onWrite(kind.resource, created);
  return json(201, created);
};
