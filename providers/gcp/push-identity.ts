import { OAuth2Client } from 'google-auth-library';
import { z } from 'zod';
import { PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { abortOnSignal } from '../../fencing/loop/ports.ts';

/** Who may push: https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions */
export interface PushRules {
  /** The audience that the subscription names, such as the URL of the function. */
  readonly audience: string;
  /** E-mail address of the service account that the subscription uses to push. */
  readonly serviceAccount: string;
  /** The URL of the public keys of Google's tokens, as PEM by key id. The default is Google's own URL. */
  readonly certificatesUrl?: string;
  /**
   * Set only if Cloud Run checks requests first. Cloud Run verifies the token and the account's permission, and
   * forwards the token without its signature. https://cloud.google.com/run/docs/troubleshooting#signature-removed
   */
  readonly behindCloudRun?: { readonly now: () => number };
}

const REMOVED = 'SIGNATURE_REMOVED_BY_GOOGLE';

const ISSUERS = ['https://accounts.google.com', 'accounts.google.com'];

const claims = z.object({ email: z.string(), email_verified: z.literal(true) });

const unsigned = z.object({ iss: z.literal(ISSUERS), aud: z.string(), exp: z.number() }).loose();

type Certificates = Awaited<ReturnType<OAuth2Client['getFederatedSignonCertsAsync']>>['certs'];

/**
 * Returns a function that checks the Authorization header of a push request. It accepts only a Google token that is
 * signed for this audience and that service account and has not expired. The keys are cached for as long as their
 * server allows.
 *
 * @throws PermissionDenied, and Unavailable if the keys are not available
 */
export const createPushCheck = ({
  audience,
  serviceAccount,
  certificatesUrl,
  behindCloudRun,
}: PushRules): ((authorization: string | null, signal: AbortSignal) => Promise<void>) => {
  const client = new OAuth2Client(
    certificatesUrl === undefined ? {} : { endpoints: { oauth2FederatedSignonPemCertsUrl: certificatesUrl } },
  );
  return async (authorization, signal) => {
    const token = /^Bearer ([\w.-]+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) throw new PermissionDenied('the push request has no bearer token');
    const isStripped = behindCloudRun !== undefined && token.endsWith(`.${REMOVED}`);
    const payload = isStripped
      ? unexpired(token, audience, behindCloudRun.now())
      : await verified(client, token, await certificates(client, signal), audience);
    const read = claims.safeParse(payload);
    if (!read.success || read.data.email !== serviceAccount)
      throw new PermissionDenied('an unexpected account sent the push request');
  };
};

const certificates = async (client: OAuth2Client, signal: AbortSignal): Promise<Certificates> => {
  try {
    return (await abortOnSignal(signal, () => client.getFederatedSignonCertsAsync())).certs;
  } catch (cause) {
    throw new Unavailable("Google's public keys for tokens are not available", { cause });
  }
};

/**
 * Verifies a token. The library's error quotes an invalid token, which may grant access elsewhere, so that error is
 * dropped.
 */
const verified = async (
  client: OAuth2Client,
  token: string,
  certs: Certificates,
  audience: string,
): Promise<unknown> => {
  const ticket = await client.verifySignedJwtWithCertsAsync(token, certs, audience, ISSUERS).catch(() => null);
  if (ticket === null)
    throw new PermissionDenied(
      'the token of the push request is not from Google, is for another audience, or has expired',
    );
  return ticket.getPayload();
};

/**
 * Checks the issuer, the audience, and the expiry of a token that Cloud Run has verified. Cloud Run also admits
 * accounts that someone else has allowed.
 */
const unexpired = (token: string, audience: string, now: number): unknown => {
  const read = unsigned.safeParse(payloadOf(token));
  if (read.success && read.data.aud === audience && read.data.exp * 1_000 > now) return read.data;
  throw new PermissionDenied(
    'the token of the push request is not from Google, is for another audience, or has expired',
  );
};

const payloadOf = (token: string): unknown =>
  parseJsonOrNull(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
