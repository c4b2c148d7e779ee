import { describe, expect, it } from 'vitest';
import { type CloudfenceError, PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import {
  driverFaultOf,
  errorReasonOf,
  httpStatusOf,
  isComputeUrl,
  isNotFound,
  withCloudfenceErrors,
} from '../../../providers/gcp/errors.ts';

/** What the errors of Compute Engine mean, code by code and reason by reason. */

const BODY = Symbol.for('google-gax.rawHttpResponsePayload');

interface Thrown {
  /** The gRPC code of the SDK. */
  readonly code?: number;
  readonly httpStatusCode?: number;
  readonly reason?: string;
  /** The status in the answer itself. */
  readonly inBody?: number;
  readonly cause?: unknown;
}

const thrown = ({ code = 2, httpStatusCode, reason, inBody, cause }: Thrown, message = ''): Error => {
  const error = new Error(message, cause === undefined ? {} : { cause });
  const fields = { code, ...(httpStatusCode !== undefined && { httpStatusCode }) };
  const body = { error: { code: inBody ?? httpStatusCode, ...(reason !== undefined && { errors: [{ reason }] }) } };
  return Object.assign(error, fields, { [BODY]: JSON.stringify(body) });
};

/** What the transport keeps of a request that failed. */
const requestTo = (url: string): unknown => ({ config: { url: new URL(url) } });
const TOKEN = 'https://oauth2.googleapis.com/token';
const COMPUTE = 'https://compute.googleapis.com/compute/v1/projects/p';

const CALL = 'compute.instances.stop';
const ready = async (): Promise<void> => undefined;

const translated = (caught: unknown, signal = new AbortController().signal): Promise<CloudfenceError> =>
  withCloudfenceErrors({ ready }, CALL, signal, () => Promise.reject(caught)).catch((error) => error);

const said = async (caught: unknown): Promise<string> => (await translated(caught)).message;

it.each([
  'backendError',
  'internalError',
  'quotaExceeded',
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'resourceNotReady',
  'operationInProgress',
])('the reason %s means a problem of the service, even with the code of a denial', async (reason) => {
  const caught = thrown({ code: 7, httpStatusCode: 403, reason });
  expect(await translated(caught)).toBeInstanceOf(Unavailable);
  expect((await translated(caught)).cause).toBe(caught);
});

it.each([
  [{ code: 2, httpStatusCode: 429 }, Unavailable],
  [{ code: 7, httpStatusCode: 500 }, Unavailable],
  [{ code: 2, httpStatusCode: 503 }, Unavailable],
  [{ code: 16, httpStatusCode: 401 }, PermissionDenied],
  [{ code: 7, httpStatusCode: 403, reason: 'forbidden' }, PermissionDenied],
  [{ code: 7 }, PermissionDenied],
  [{ code: 5, httpStatusCode: 404, reason: 'notFound' }, Refused],
  [{ code: 3, httpStatusCode: 400 }, Refused],
  [{ code: 2, httpStatusCode: 499 }, Refused],
  [{ code: 2, httpStatusCode: 399 }, Unavailable],
  [{ code: 14 }, Unavailable],
])('%o says whether another try may help', async (fields, kind) => {
  const caught = thrown(fields);
  expect(await translated(caught)).toBeInstanceOf(kind);
  expect((await translated(caught)).cause).toBe(caught);
});

it.each([
  [TOKEN, 400, PermissionDenied],
  [TOKEN, 499, PermissionDenied],
  [TOKEN, 399, Unavailable],
  [TOKEN, 500, Unavailable],
  [COMPUTE, 400, Refused],
])('a request to %s that is answered with %i is %o', async (url, httpStatusCode, kind) => {
  expect(await translated(thrown({ httpStatusCode, cause: requestTo(url) }))).toBeInstanceOf(kind);
});

it('a request counts as a call of Compute Engine only if its path is one of that service', () => {
  expect([COMPUTE, TOKEN, 'https://x/a/compute/'].map((url) => isComputeUrl(new URL(url)))).toEqual([
    true,
    false,
    false,
  ]);
});

it('an error of Cloudfence is not converted, however deep the SDK wraps it', async () => {
  const ours = new Refused('no');
  expect(await translated(ours)).toBe(ours);
  expect(await translated(new Error('outer', { cause: new Error('inner', { cause: ours }) }))).toBe(ours);
});

it('a call starts when the credentials are ready, returns its result, and ends with the signal', async () => {
  const order: string[] = [];
  const credentials = { ready: async () => void order.push('ready') };
  const run = async () => order.push('call');
  const { signal } = new AbortController();
  expect(await withCloudfenceErrors(credentials, CALL, signal, run)).toBe(2);
  expect(order).toEqual(['ready', 'call']);
  const never = withCloudfenceErrors({ ready }, CALL, AbortSignal.abort(), () => new Promise(() => undefined));
  await expect(never).rejects.toBeInstanceOf(Unavailable);
});

it('an object counts as not found only if the service says so in each way', () => {
  const gone = { code: 5, httpStatusCode: 404, reason: 'notFound' };
  expect(isNotFound(thrown(gone))).toBe(true);
  expect(isNotFound(thrown({ ...gone, httpStatusCode: 400, inBody: 404 }))).toBe(false);
  expect(isNotFound(thrown({ ...gone, inBody: 400 }))).toBe(false);
  expect(isNotFound(thrown({ ...gone, reason: 'other' }))).toBe(false);
  expect(isNotFound(thrown({ code: 5, httpStatusCode: 404 }))).toBe(false);
  expect(isNotFound({ ...gone, [BODY]: thrown(gone) })).toBe(false);
});

it('the reason and the status are read from the answer', () => {
  expect(errorReasonOf(thrown({ httpStatusCode: 400, reason: 'invalid' }))).toBe('invalid');
  expect(errorReasonOf(thrown({ httpStatusCode: 400 }))).toBeNull();
  expect(errorReasonOf('a text')).toBeNull();
  expect([httpStatusOf(thrown({ httpStatusCode: 400 })), httpStatusOf(thrown({})), httpStatusOf('a text')]).toEqual([
    400,
    null,
    null,
  ]);
});

describe('the message of an error', () => {
  it('contains the first line of the service’s answer, if there is a reason', async () => {
    const reason = 'forbidden';
    expect(await said(thrown({ code: 7, httpStatusCode: 403, reason }, 'You may not.\nmore'))).toBe(
      `${CALL} returned forbidden: You may not.`,
    );
    expect(await said(thrown({ code: 7, httpStatusCode: 403, reason }))).toBe(`${CALL} returned forbidden`);
    expect(await said(thrown({ httpStatusCode: 502 }, '<html>'))).toBe(`${CALL} returned 502`);
    expect(await said(thrown({ reason }, 'No.'))).toBe(`${CALL} returned forbidden: No.`);
  });

  it('says why there is no answer', async () => {
    const cause = { ...Object(requestTo(COMPUTE)), code: 'ECONNRESET' };
    expect(await said(thrown({ cause }))).toBe(`${CALL} got no response: ECONNRESET compute.googleapis.com`);
    expect(await said(thrown({ cause: requestTo(COMPUTE) }))).toBe(`${CALL} got no response: compute.googleapis.com`);
    for (const end of ['', '  before any response was received', ', code: ECONNRESET'])
      expect(await said(thrown({}, `request to x failed, reason: read ECONNRESET${end}`))).toBe(
        `${CALL} got no response: read ECONNRESET`,
      );
    expect(await said(thrown({}, 'something else'))).toBe(`${CALL} got no response: the cause is unknown`);
    expect(await said('a text')).toBe(`${CALL} got no response: the cause is unknown`);
  });
});

it.each([
  ['(RESOURCE_IN_USE_BY_ANOTHER_RESOURCE)', 'attached-elsewhere'],
  ['googleapi: Error 400: x, resourceInUseByAnotherResource', 'attached-elsewhere'],
  ['googleapi: Error 403: x, rateLimitExceeded', 'throttled'],
  ['(RATE_LIMIT_EXCEEDED)', 'throttled'],
  ['googleapi: Error 403: x, forbidden', 'not-permitted'],
  ['rpc error: code = PermissionDenied desc = x', 'not-permitted'],
  ['googleapi: Error 400: x, kmsKeyError', 'key-unusable'],
  ['googleapi: Error 400: x, somethingNew', null],
  ['googleapi: Error 400: x, constructor', null],
  ['12: 34', null],
  ['ControllerPublish not permitted on node "n" due to backoff condition, forbidden', 'driver-backs-off'],
  ['ControllerPublish not permitted on node "n"', null],
  ['n is in a backoff condition', null],
  ['UNSUPPORTED_OPERATION: Maximum hyperdisk-balanced disks count should be less than 8', 'attach-limit'],
  ['Maximum hyperdisk-balanced disks count should be less than 8', null],
  ['UNSUPPORTED_OPERATION: no', null],
  ['rpc error: code = NotFound desc = Could not find disk d', 'disk-not-found'],
  ["googleapi: Error 404: The resource 'projects/p/zones/z/disks/d' was not found, notFound", 'disk-not-found'],
  ["the resource 'projects/p/zones/z/disks/d' is fine", null],
  ['Could not find instance i', 'machine-not-found'],
  ["googleapi: Error 404: The resource 'projects/p/zones/z/instances/i' was not found, notFound", 'machine-not-found'],
  ["the resource 'projects/p/zones/z/instances/i' is fine", null],
  ["googleapi: Error 400: 'projects/p/zones/z/disks/d' is not ready, resourceNotReady", 'disk-not-ready'],
  ['(RESOURCE_NOT_READY) projects/p/zones/z/disks/d', 'disk-not-ready'],
  ['googleapi: Error 400: projects/p/zones/z/instances/i is not ready, resourceNotReady', null],
  ['googleapi: Error 400: pd-standard is not a compatible disk type, invalid', 'incompatible'],
  ['UNSUPPORTED_OPERATION: is NOT a compatible disk type', 'incompatible'],
  ['pd-standard is not a compatible disk type', null],
])('in a sentence of the Persistent Disk CSI driver: %s', (sentence, fault) => {
  expect(driverFaultOf(sentence)).toBe(fault);
});
