import { describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { declinedWith, driverFaultOf, errorCodeOf, toCloudfenceError } from '../../../providers/azure/errors.ts';

/** What the answers of ARM and the errors of the credentials mean, code by code. */

interface RestFields {
  readonly code?: string;
  readonly statusCode?: number;
  readonly request?: { readonly url: string };
}

const rest = (fields: RestFields, message = ''): Error =>
  Object.assign(new Error(message), { name: 'RestError', ...fields });

const noToken = (name: string, message: string, statusCode?: number): Error =>
  Object.assign(new Error(message), { name, ...(statusCode !== undefined && { statusCode }) });

const CALL = 'powerOff/action';
const said = (caught: unknown): string => toCloudfenceError(caught, CALL).message;

it.each([
  'AnotherOperationInProgress',
  'Conflict',
  'OperationPreempted',
  'RequestTimeout',
  'RetryableError',
  'TooManyRequests',
])('%s means a problem that ends by itself', (code) => {
  const caught = rest({ code, statusCode: 409 });
  expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(Unavailable);
  expect(toCloudfenceError(caught, CALL).cause).toBe(caught);
});

it.each([
  [302, Unavailable],
  [399, Unavailable],
  [400, Refused],
  [401, PermissionDenied],
  [403, PermissionDenied],
  [404, Refused],
  [408, Unavailable],
  [409, Refused],
  [429, Unavailable],
  [499, Refused],
  [500, Unavailable],
  [503, Unavailable],
])('an unknown code with status %i means what the status means', (statusCode, kind) => {
  const caught = rest({ code: 'SomethingNew', statusCode });
  expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(kind);
  expect(toCloudfenceError(caught, CALL).cause).toBe(caught);
});

it('an error of Cloudfence is not converted', () => {
  const ours = new Refused('no');
  expect(toCloudfenceError(ours, CALL)).toBe(ours);
});

it('ARM has declined only if the answer has a code and a status of 4xx', () => {
  expect(declinedWith(rest({ code: 'Gone', statusCode: 400 }))).toEqual({ status: 400, code: 'Gone' });
  expect(declinedWith(rest({ code: 'Gone', statusCode: 499 }))).toEqual({ status: 499, code: 'Gone' });
  const others = [
    rest({ code: 'Gone', statusCode: 399 }),
    rest({ code: 'Gone', statusCode: 500 }),
    rest({ code: 'ECONNRESET' }),
    rest({ statusCode: 404 }),
    Object.assign(new Error('x'), { code: 'Gone', statusCode: 404 }),
    undefined,
  ];
  expect(others.map(declinedWith)).toEqual(others.map(() => null));
});

it('a code counts as ARM’s only if there was an answer', () => {
  expect(errorCodeOf(rest({ code: 'Gone', statusCode: 500 }))).toBe('Gone');
  expect(errorCodeOf(rest({ statusCode: 500 }))).toBeNull();
  expect(errorCodeOf(rest({ code: 'ECONNRESET' }))).toBeNull();
  expect(errorCodeOf('a text')).toBeNull();
});

describe('credentials that give no token', () => {
  it.each(['AuthenticationError', 'AuthenticationRequiredError', 'CredentialUnavailableError'])(
    'are a denial with the first line of the reason: %s',
    (name) => {
      const caught = noToken(name, 'no variables\nheaders: x');
      expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(PermissionDenied);
      expect(toCloudfenceError(caught, CALL).cause).toBe(caught);
      expect(said(caught)).toBe(`${CALL} was not sent, because there is no token: no variables`);
    },
  );

  it('are a denial that says what to do, if a whole chain failed', () => {
    const caught = noToken('AggregateAuthenticationError', 'a page');
    expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(PermissionDenied);
    expect(said(caught)).toBe(
      `${CALL} was not sent, because there is no token: run \`az login\`, or use a managed identity or the variables of a service principal`,
    );
  });

  it.each([
    [400, PermissionDenied],
    [401, PermissionDenied],
    [429, Unavailable],
    [503, Unavailable],
  ])('are a problem of the service if it answered with %i', (status, kind) => {
    const caught = noToken('AuthenticationError', 'x', status);
    expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(kind);
    expect(toCloudfenceError(caught, CALL).cause).toBe(caught);
  });
});

describe('the message of an error', () => {
  it('contains the first line of ARM’s answer', () => {
    expect(said(rest({ code: 'Gone', statusCode: 404 }, 'The VM is gone.\nbody'))).toBe(
      `${CALL} returned Gone: The VM is gone.`,
    );
    expect(said(rest({ code: 'Gone', statusCode: 404 }))).toBe(`${CALL} returned Gone`);
    expect(said(rest({ statusCode: 502 }, '<html>'))).toBe(`${CALL} returned status 502`);
  });

  it('quotes nothing that cannot be read', () => {
    const unreadable = `${CALL} returned an answer that cannot be read`;
    expect(said(rest({ code: 'PARSE_ERROR', statusCode: 200 }, 'the whole body'))).toBe(unreadable);
    expect(said(new SyntaxError('<html>'))).toBe(unreadable);
  });

  it('names the host that did not answer', () => {
    const request = { url: 'https://management.azure.com/subscriptions' };
    expect(said(rest({ code: 'ECONNRESET', request }))).toBe(
      `${CALL} got no response: ECONNRESET management.azure.com`,
    );
    expect(said(rest({ code: 'ECONNRESET', request: { url: 'nowhere' } }))).toBe(`${CALL} got no response: ECONNRESET`);
    expect(said(rest({ code: 'aborted by us', request }))).toBe(`${CALL} got no response: aborted by us`);
    expect(said(rest({ request }))).toBe(`${CALL} got no response: management.azure.com`);
    expect(said(rest({}))).toBe(`${CALL} got no response`);
    expect(said('a text')).toBe(`${CALL} got no response`);
    expect(toCloudfenceError('a text', CALL)).toBeInstanceOf(Unavailable);
  });
});

describe('in a sentence of the Azure Disk CSI driver', () => {
  it.each([
    ['AttachDiskWhileBeingDetached', 'detach-pending'],
    ['AuthorizationFailed', 'not-permitted'],
    ['ConflictingUserInput', 'attached-elsewhere'],
    ['DiskServiceInternalError', 'throttled'],
    ['KeyVaultAccessForbidden', 'key-unusable'],
    ['LinkedAuthorizationFailed', 'not-permitted'],
    ['MaximumDataDisksExceeded', 'attach-limit'],
    ['ResourceNotFound', 'disk-not-found'],
    ['SubscriptionRequestsThrottled', 'throttled'],
    ['TooManyRequests', 'throttled'],
    ['SomethingNew', null],
    ['constructor', null],
  ])('%s means %s, in each form', (code, fault) => {
    for (const form of [
      `ERROR CODE: ${code}\nmore`,
      `Code="${code}" Message="x"`,
      `{"code" : "${code}"}`,
      `code=${code}`,
    ])
      expect(driverFaultOf(form)).toBe(fault);
    expect(driverFaultOf(`ERROR CODE: First, then ERROR CODE:   ${code}`)).toBe(fault);
    expect(driverFaultOf(`the word ${code} without its form`)).toBe(null);
  });

  it.each([
    [`ResourceNotFound: The Resource '/subscriptions/s/x/virtualMachines/vm' was not found`, 'machine-not-found'],
    [`failed to get azure instance id for node "vm" (instance not found)`, 'machine-not-found'],
    [`The Resource '/subscriptions/s/x/virtualMachines/vm' is fine`, null],
    ['OperationNotAllowed: The maximum number of data disks allowed is 4', 'attach-limit'],
    ['The maximum number of data disks allowed is 4', null],
    ['BadRequest: the disk is not in the same zone', 'wrong-zone'],
    ['OperationNotAllowed: the disk is not in the same zone', 'wrong-zone'],
    ['the disk is not in the same zone', null],
    ['InvalidParameter: UltraSSD is not enabled', 'incompatible'],
    ['UltraSSD is not enabled', null],
    ['InvalidParameter: LUN 12 is in use, because LUN 12 already exists', 'lun-taken'],
    ['A disk at LUN 1 already exists', 'lun-taken'],
    ['a disk already exists', null],
    ['disk d is already attached to node(vm-1)', 'attached-elsewhere'],
    ['disk d is in ToBeDetached state', 'detach-pending'],
    ['state of disk(/subscriptions/s/d) is Attaching, not in expected Unattached', 'disk-not-ready'],
    ['azure cloud provider: client throttled', 'throttled'],
    ['Volume not found, failed with error: 404', 'disk-not-found'],
    ['nothing of these', null],
  ])('%s', (sentence, fault) => {
    expect(driverFaultOf(sentence)).toBe(fault);
  });

  it('a known code counts more than the words of the driver', () => {
    expect(driverFaultOf('disk d is in ToBeDetached state: ERROR CODE: TooManyRequests')).toBe('throttled');
  });
});
