import { describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Throttled, Unavailable } from '../../../fencing/model/errors.ts';
import { declinedWith, driverFaultOf, errorCodeOf, toCloudfenceError } from '../../../providers/aws/errors.ts';

/** What the codes of EC2, EKS, and the credential chain mean, code by code. */

const named = (name: string, message = ''): Error => Object.assign(new Error(message), { name });

/** An error of the SDK: a service has answered with this code and status. */
const answered = (name: string, httpStatusCode = 400, message = ''): Error =>
  Object.assign(named(name, message), { $metadata: { httpStatusCode } });

const CALL = 'ec2:DetachVolume';
const said = (caught: unknown): string => toCloudfenceError(caught, CALL).message;

describe('an error code with status 400', () => {
  it.each([
    'AccessDenied',
    'AccessDeniedException',
    'AuthFailure',
    'Blocked',
    'ExpiredToken',
    'ExpiredTokenException',
    'IncompleteSignature',
    'InvalidClientTokenId',
    'InvalidSignatureException',
    'MissingAuthenticationToken',
    'OptInRequired',
    'PendingVerification',
    'RequestExpired',
    'SignatureDoesNotMatch',
    'UnauthorizedOperation',
    'UnrecognizedClientException',
  ])('%s means a denial', (code) => {
    const caught = answered(code);
    expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(PermissionDenied);
    expect(toCloudfenceError(caught, CALL).cause).toBe(caught);
  });

  it.each([
    'EC2ThrottledException',
    'RequestLimitExceeded',
    'RequestThrottled',
    'RequestThrottledException',
    'SlowDown',
    'Throttling',
    'ThrottlingException',
    'TooManyRequestsException',
  ])('%s means throttling', (code) => {
    const caught = answered(code);
    expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(Throttled);
    expect(toCloudfenceError(caught, CALL).cause).toBe(caught);
  });

  it.each([
    'InternalError',
    'InternalFailure',
    'RequestTimeout',
    'ServerInternal',
    'ServiceUnavailable',
    'Unavailable',
  ])('%s means a problem of the service', (code) => {
    const caught = answered(code);
    expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(Unavailable);
    expect(toCloudfenceError(caught, CALL)).not.toBeInstanceOf(Throttled);
    expect(toCloudfenceError(caught, CALL).cause).toBe(caught);
  });
});

it.each([
  [301, Unavailable],
  [399, Unavailable],
  [400, Refused],
  [401, PermissionDenied],
  [403, PermissionDenied],
  [404, Refused],
  [429, Throttled],
  [499, Refused],
  [500, Unavailable],
  [503, Unavailable],
])('an unknown code with status %i means what the status means', (status, kind) => {
  const caught = answered('SomethingNew', status);
  const translated = toCloudfenceError(caught, CALL);
  expect(translated.constructor).toBe(kind);
  expect(translated.cause).toBe(caught);
});

it('an error of Cloudfence is not converted', () => {
  const ours = new Refused('no');
  expect(toCloudfenceError(ours, CALL)).toBe(ours);
});

it('a code counts only if the service sent it, and EC2 refuses only with a 400', () => {
  expect([errorCodeOf(answered('IncorrectState', 503)), declinedWith(answered('IncorrectState', 503))]).toEqual([
    'IncorrectState',
    null,
  ]);
  expect(declinedWith(answered('IncorrectState', 400))).toBe('IncorrectState');
  for (const silent of [named('IncorrectState'), undefined, 'IncorrectState'])
    expect([errorCodeOf(silent), declinedWith(silent)]).toEqual([null, null]);
});

describe('the message of an error', () => {
  it.each(['CredentialsProviderError', 'TokenProviderError'])('says where no credentials were found (%s)', (name) => {
    const caught = named(name, 'looked into nothing');
    expect(toCloudfenceError(caught, CALL)).toBeInstanceOf(PermissionDenied);
    expect(said(caught)).toBe(`${CALL} was not sent, because there are no credentials: looked into nothing`);
  });

  it('contains the first line of the service’s answer', () => {
    expect(said(answered('UnauthorizedOperation', 403, 'You may not.\nGET /?x'))).toBe(
      `${CALL} returned UnauthorizedOperation: You may not.`,
    );
    expect(said(answered('IncorrectState', 400, 'IncorrectState'))).toBe(`${CALL} returned IncorrectState`);
    expect(said(answered('IncorrectState'))).toBe(`${CALL} returned IncorrectState`);
  });

  it.each(['IncompleteSignature', 'InvalidSignatureException', 'SignatureDoesNotMatch'])(
    'does not contain the request that %s quotes',
    (code) => {
      expect(said(answered(code, 403, 'The String-to-Sign should have been secret'))).toBe(`${CALL} returned ${code}`);
    },
  );

  it('says why there is no answer', () => {
    const refused = Object.assign(named('Error', 'x'), { code: 'ECONNREFUSED', address: '10.0.0.1', port: 443 });
    expect(said(refused)).toBe(`${CALL} got no response: ECONNREFUSED 10.0.0.1:443`);
    expect(said(named('AbortError', 'Request aborted\nat x'))).toBe(`${CALL} got no response: Request aborted`);
    expect(said(named('AbortError'))).toBe(`${CALL} got no response: AbortError`);
    expect(toCloudfenceError(refused, CALL).constructor).toBe(Unavailable);
  });

  it('quotes nothing that cannot be read', () => {
    expect(said(new SyntaxError('<html>'))).toBe(`${CALL} returned an answer that cannot be read`);
    expect(said('a text')).toBe(`${CALL} returned nothing`);
    expect(toCloudfenceError('a text', CALL).constructor).toBe(Unavailable);
  });
});

it.each([
  ['AttachmentLimitExceeded', 'attach-limit'],
  ['AuthFailure', 'not-permitted'],
  ['CustomerKeyHasBeenRevoked', 'key-unusable'],
  ['IncorrectInstanceState', 'machine-not-found'],
  ['InvalidInstanceID.NotFound', 'machine-not-found'],
  ['InvalidVolume.NotFound', 'disk-not-found'],
  ['InvalidVolume.ZoneMismatch', 'wrong-zone'],
  ['RequestLimitExceeded', 'throttled'],
  ['UnauthorizedOperation', 'not-permitted'],
  ['UnsupportedOperation', 'incompatible'],
  ['VolumeInUse', 'attached-elsewhere'],
  ['WebIdentityErr', 'not-permitted'],
  ['SomethingNew', null],
  ['constructor', null],
  ['xVolumeInUse', null],
  ['InvalidVolume', null],
])('of the EBS CSI driver, %s means %s', (code, fault) => {
  expect(driverFaultOf(`rpc error: Could not attach volume "vol-1": api error ${code}: vol-1 is in use`)).toBe(fault);
});
