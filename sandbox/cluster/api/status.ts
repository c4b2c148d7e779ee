import type { ServedKind } from './kinds.ts';
import { qualified } from './kinds.ts';
import type { ApiResponse } from './wire.ts';
import { json } from './wire.ts';

export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

interface Details {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
}

/**
 * The Status body of a request that Kubernetes rejects:
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */
export const failure = (
  code: number,
  reason: string,
  message: string,
  details?: Details,
  metadata: object = {},
): ApiResponse =>
  json(code, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata,
    status: 'Failure',
    message,
    reason,
    ...(details && { details }),
    code,
  });

const detailsOf = (kind: ServedKind, name: string): Details => ({
  ...(name !== '' && { name }),
  ...(kind.group !== '' && { group: kind.group }),
  kind: kind.resource,
});

export const unauthorized = (): ApiResponse => failure(401, 'Unauthorized', 'Unauthorized');

export const badRequest = (message: string): ApiResponse => failure(400, 'BadRequest', message);

export const methodNotAllowed = (): ApiResponse =>
  failure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const noSuchPath = (): ApiResponse =>
  failure(404, 'NotFound', 'the server could not find the requested resource', {});

export const notFound = (kind: ServedKind, name: string): ApiResponse =>
  failure(404, 'NotFound', `${qualified(kind)} "${name}" not found`, detailsOf(kind, name));

export const alreadyExists = (kind: ServedKind, name: string): ApiResponse =>
  failure(409, 'AlreadyExists', `${qualified(kind)} "${name}" already exists`, detailsOf(kind, name));

export const conflict = (kind: ServedKind, name: string, why: string): ApiResponse =>
  failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(kind)} "${name}": ${why}`,
    detailsOf(kind, name),
  );

/** The message about a failed precondition of a DELETE contains the kind instead of the resource. */
export const preconditionFailed = (kind: ServedKind, name: string, why: string): ApiResponse =>
  failure(409, 'Conflict', `Operation cannot be fulfilled on ${kind.kind} "${name}": ${why}`, {
    ...detailsOf(kind, name),
    kind: kind.kind,
  });

export const staleVersion = (kind: ServedKind, name: string): ApiResponse =>
  conflict(kind, name, 'the object has been modified; please apply your changes to the latest version and try again');

export const invalid = (kind: ServedKind, name: string, causes: readonly Cause[]): ApiResponse => {
  const faults = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const list = faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`;
  return failure(422, 'Invalid', `${qualified(kind).replace(kind.resource, kind.kind)} "${name}" is invalid: ${list}`, {
    ...detailsOf(kind, name),
    kind: kind.kind,
    causes,
  });
};

/** The answer to a JSON Patch whose test fails or whose path is missing. It does not report which operation failed. */
export const patchDidNotApply = (): ApiResponse =>
  failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});

export const listExpired = (): ApiResponse =>
  failure(
    410,
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list ' +
      'without the continue parameter.',
  );

export const forbidden = (kind: ServedKind, name: string, why: string): ApiResponse => {
  const subject = name === '' ? qualified(kind) : `${qualified(kind)} "${name}"`;
  return failure(403, 'Forbidden', `${subject} is forbidden: ${why}`, detailsOf(kind, name));
};

export const deleted = (kind: ServedKind, name: string, uid: string): ApiResponse =>
  json(200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...detailsOf(kind, name), uid },
  });
