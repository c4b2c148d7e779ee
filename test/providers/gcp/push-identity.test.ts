import { beforeAll, describe, expect, it } from 'vitest';
import { PermissionDenied, Unavailable } from '../../../fencing/model/errors.ts';
import { createPushCheck } from '../../../providers/gcp/push-identity.ts';
import { openKeyServer, type KeyServer } from './key-server.ts';

const audience = 'https://fence.example.org/push';
const serviceAccount = 'pusher@my-project.iam.gserviceaccount.com';
const patient = (): AbortSignal => new AbortController().signal;

/** The library reads the real clock. */
const now = (): number => Math.floor(Date.now() / 1000);
const good = () => ({
  iss: 'https://accounts.google.com',
  aud: audience,
  email: serviceAccount,
  email_verified: true,
  sub: '1',
  iat: now() - 60,
  exp: now() + 3_000,
});

describe('a push request', () => {
  let keys: KeyServer;
  beforeAll(async () => {
    keys = await openKeyServer();
    return keys.close;
  });
  const check = (authorization: string | null) =>
    createPushCheck({ audience, serviceAccount, certificatesUrl: keys.url })(authorization, patient());
  const bearer = (claims: object, keyId?: string): string => `Bearer ${keys.token(claims, keyId)}`;

  it.each(['https://accounts.google.com', 'accounts.google.com'])(
    'is accepted with a token for this install from the account that pushes (%s)',
    async (iss) => {
      await expect(check(bearer({ ...good(), iss }))).resolves.toBeUndefined();
    },
  );

  it.each([
    ['another audience', { aud: 'https://other.example.org' }],
    ['an audience that begins like ours', { aud: `${audience}/another` }],
    ['several audiences', { aud: [audience] }],
    ['another issuer', { iss: 'https://accounts.example.org' }],
    ['another account', { email: 'somebody@my-project.iam.gserviceaccount.com' }],
    ['no account', { email: undefined }],
    ['an unverified account', { email_verified: false }],
    ['an account that does not say whether it is verified', { email_verified: undefined }],
    ['an expiry in the past', { iat: now() - 7_200, exp: now() - 3_600 }],
    ['no expiry', { exp: undefined }],
    ['an issue time in the future', { iat: now() + 3_600, exp: now() + 7_000 }],
    ['far too long a lifetime', { exp: now() + 10 * 86_400 }],
  ])('is denied with a token of %s', async (_, wrong) => {
    await expect(check(bearer({ ...good(), ...wrong }))).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('is denied with a token that another party signed or changed', async () => {
    const [head, , signature] = keys.token(good()).split('.');
    const other = Buffer.from(JSON.stringify({ ...good(), sub: '2' })).toString('base64url');
    const none = `${Buffer.from('{"alg":"none","kid":"google"}').toString('base64url')}.${other}.`;
    for (const token of [
      keys.token(good(), 'stranger'),
      keys.token(good(), 'forged'),
      `${head}.${other}.${signature}`,
      none,
      'a.b.c',
      'abc',
    ]) {
      await expect(check(`Bearer ${token}`)).rejects.toBeInstanceOf(PermissionDenied);
    }
  });

  it.each([null, '', 'Basic abc', 'Bearer ', 'Bearer a b'])('is denied without a token (%s)', async (authorization) => {
    await expect(check(authorization)).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('is denied with an error that does not show its token', async () => {
    const token = keys.token({ ...good(), aud: 'https://other.example.org' });
    const error: unknown = await check(`Bearer ${token}`).catch((caught: unknown) => caught);
    const text = error instanceof Error ? `${error.stack} ${String(error.cause)}` : '';
    expect(text).toContain('PermissionDenied');
    for (const part of token.split('.')) expect(text).not.toContain(part);
  });

  it('causes one fetch of the keys for many requests', async () => {
    const before = keys.asked();
    const identity = createPushCheck({ audience, serviceAccount, certificatesUrl: keys.url });
    for (let n = 0; n < 3; n += 1) await identity(bearer(good()), patient());
    expect(keys.asked() - before).toBe(1);
  });

  it('is neither accepted nor denied if there are no keys, or if the caller gives up', async () => {
    const token = bearer(good());
    const silent = createPushCheck({ audience, serviceAccount, certificatesUrl: keys.url });
    await expect(silent(token, AbortSignal.abort())).rejects.toBeInstanceOf(Unavailable);
    const nowhere = createPushCheck({ audience, serviceAccount, certificatesUrl: 'http://127.0.0.1:1/certs' });
    await expect(nowhere(token, AbortSignal.timeout(2_000))).rejects.toBeInstanceOf(Unavailable);
  });

  describe('behind Cloud Run, which removes the signature', () => {
    const behind = (authorization: string) =>
      createPushCheck({ audience, serviceAccount, certificatesUrl: keys.url, behindCloudRun: { now: Date.now } })(
        authorization,
        patient(),
      );
    const stripped = (claims: object): string => bearer(claims).replace(/\.[^.]+$/, '.SIGNATURE_REMOVED_BY_GOOGLE');

    it('is accepted from the account that pushes, and a token with a signature is verified as usual', async () => {
      await expect(behind(stripped(good()))).resolves.toBeUndefined();
      await expect(behind(bearer(good()))).resolves.toBeUndefined();
      await expect(behind(bearer(good(), 'forged'))).rejects.toBeInstanceOf(PermissionDenied);
    });

    it.each([
      ['another audience', { aud: 'https://other.example.org' }],
      ['an audience that begins like ours', { aud: `${audience}/another` }],
      ['an audience with which ours begins', { aud: audience.slice(0, -1) }],
      ['several audiences', { aud: [audience] }],
      ['another issuer', { iss: 'https://accounts.example.org' }],
      ['another account', { email: 'somebody@my-project.iam.gserviceaccount.com' }],
      ['an unverified account', { email_verified: false }],
      ['an expiry in the past', { exp: now() - 10 }],
      ['no expiry', { exp: undefined }],
    ])('is denied with a token of %s', async (_, wrong) => {
      await expect(behind(stripped({ ...good(), ...wrong }))).rejects.toBeInstanceOf(PermissionDenied);
    });

    it.each([
      'Bearer .SIGNATURE_REMOVED_BY_GOOGLE',
      'Bearer a.b.SIGNATURE_REMOVED_BY_GOOGLE',
      'Bearer SIGNATURE_REMOVED_BY_GOOGLE',
    ])('is denied with an invalid token (%s)', async (authorization) => {
      await expect(behind(authorization)).rejects.toBeInstanceOf(PermissionDenied);
    });

    it('is denied if Cloud Run is not in front', async () => {
      await expect(check(stripped(good()))).rejects.toBeInstanceOf(PermissionDenied);
    });
  });
});
