import { ApiException } from '@kubernetes/client-node/dist/gen/index.js';
import { describe, expect, it } from 'vitest';
import { ClusterUnavailable, PermissionDenied, Refused } from '../../fencing/model/errors.ts';
import {
  hasNoRoomForAnnotations,
  isNotFound,
  isPreconditionFailed,
  isUnknownPath,
  toCloudfenceError,
  unreadableAnswer,
} from '../../kubernetes/errors.ts';

/** What an answer of the API server means. An object counts as gone only if the API server itself says so. */

const status = (fields: object): string => JSON.stringify({ kind: 'Status', ...fields });
const answer = (code: number, body: unknown = ''): ApiException<unknown> => new ApiException(code, 'text', body, {});
const gone = answer(404, status({ reason: 'NotFound', details: { name: 'node-a' } }));
const behind = (cause: unknown): Error => new Error('outside', { cause });

describe('whether an object counts as gone', () => {
  it.each([
    ['yes, the API server names it', gone, true],
    ['yes, an error with that cause', behind(behind(gone)), true],
    ['no, the API server names none', answer(404, status({ reason: 'NotFound', details: {} })), false],
    ['no, the API server gives no details', answer(404, status({ reason: 'NotFound' })), false],
    ['no, the answer has no reason', answer(404, status({ details: { name: 'node-a' } })), false],
    ['no, the answer is not a Status', answer(404, '<h1>404</h1>'), false],
    [
      'no, it is about another kind of object',
      answer(404, JSON.stringify({ kind: 'Node', reason: 'NotFound', details: { name: 'a' } })),
      false,
    ],
    ['no, the code is another one', answer(410, status({ reason: 'NotFound', details: { name: 'node-a' } })), false],
    ['no, there is no answer', new Error('connect ECONNREFUSED'), false],
    ['no, there is no error', null, false],
  ])('%s', (_case, error, isGone) => {
    expect(isNotFound(error)).toBe(isGone);
  });
});

describe('whether a path is not served', () => {
  it.each([
    ['yes, a 404 without an object', answer(404, 'page not found'), true],
    ['no, a 404 about an object', gone, false],
    ['no, another code', answer(403), false],
    ['no, no answer', new Error('reset'), false],
  ])('%s', (_case, error, isUnknown) => {
    expect(isUnknownPath(error)).toBe(isUnknown);
  });
});

it.each([
  [409, true],
  [422, true],
  [404, false],
  [403, false],
])('a code that means a failed precondition: %i', (code, hasFailed) => {
  expect(isPreconditionFailed(behind(answer(code)))).toBe(hasFailed);
});

const tooLong = { reason: 'FieldValueTooLong', field: 'metadata.annotations' };
const invalid = (causes: unknown, code = 422) => answer(code, status({ reason: 'Invalid', details: { causes } }));

it.each([
  ['yes', behind(invalid([{ reason: 'FieldValueDuplicate', field: 'spec.taints' }, tooLong])), true],
  ['no, another field is too long', invalid([{ ...tooLong, field: 'metadata.labels' }]), false],
  ['no, something else is wrong with them', invalid([{ ...tooLong, reason: 'FieldValueInvalid' }]), false],
  ['no, the code is another one', invalid([tooLong], 400), false],
  ['no, a test of the patch failed', answer(422, status({ reason: 'Invalid' })), false],
  ['no, the causes are unreadable', invalid(null), false],
  ['no, the answer is not a Status', answer(422, '<h1>422</h1>'), false],
  ['no, there is no answer', new Error('reset'), false],
])('whether the annotations have no room for a record: %s', (_, error, isFull) => {
  expect(hasNoRoomForAnnotations(error)).toBe(isFull);
});

describe('an error of the API server', () => {
  it.each([
    [401, PermissionDenied],
    [403, PermissionDenied],
    [400, Refused],
    [409, Refused],
    [422, Refused],
    [408, ClusterUnavailable],
    [410, ClusterUnavailable],
    [429, ClusterUnavailable],
    [500, ClusterUnavailable],
    [503, ClusterUnavailable],
    [404, ClusterUnavailable],
  ])('with code %i says whether another try may help, and keeps its cause', (code, kind) => {
    const error = answer(code);
    const translated = toCloudfenceError(error, 'GET /api');
    expect(translated).toBeInstanceOf(kind);
    expect(translated.message).toBe(`GET /api returned ${code}`);
    expect(translated.cause).toBe(error);
  });

  it('with a 404 of the API server is final, and repeats its words', () => {
    const translated = toCloudfenceError(
      answer(404, status({ reason: 'NotFound', message: 'nodes "a" not found' })),
      'GET /api',
    );
    expect(translated).toBeInstanceOf(Refused);
    expect(translated.message).toBe('GET /api returned 404 NotFound: nodes "a" not found');
  });

  it('without words contains only method, path, and code', () => {
    expect(toCloudfenceError(answer(409, status({})), 'PATCH /api').message).toBe('PATCH /api returned 409 : ');
  });

  it('that is already converted stays as it is', () => {
    const refused = new Refused('no');
    expect(toCloudfenceError(behind(refused), 'GET /api')).toBe(refused);
  });
});

describe('a call without an answer', () => {
  it('names the reason, and keeps its cause', () => {
    const error = new Error('connect ECONNREFUSED 127.0.0.1:1');
    const translated = toCloudfenceError(error, 'GET /api');
    expect(translated).toBeInstanceOf(ClusterUnavailable);
    expect(translated.message).toBe('GET /api got no response: connect ECONNREFUSED 127.0.0.1:1');
    expect(translated.cause).toBe(error);
    expect(toCloudfenceError('a text', 'GET /api').message).toBe('GET /api got no response: a text');
  });

  it('names the codes of all addresses that Node.js tried, because its own message is empty', () => {
    const refused = Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
    const all = Object.assign(new AggregateError([refused], ''), { code: 'ECONNREFUSED' });
    expect(toCloudfenceError(all, 'GET /api').message).toContain('ECONNREFUSED');
    expect(toCloudfenceError(new Error(''), 'GET /api').message).toBe('GET /api got no response: the cause is unknown');
  });

  it('or with one that cannot be read is an error of the same kind', () => {
    const cause = new TypeError('x is not iterable');
    const translated = unreadableAnswer('cluster c', cause);
    expect(translated).toBeInstanceOf(ClusterUnavailable);
    expect(translated.cause).toBe(cause);
    expect(translated.message).toContain('check what answers at the address of the API server');
    const syntax = new SyntaxError('Unexpected token');
    expect(toCloudfenceError(syntax, 'GET /api')).toMatchObject({
      message: unreadableAnswer('GET /api', syntax).message,
      cause: syntax,
    });
  });
});
