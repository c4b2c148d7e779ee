import { OAuth2Client } from 'google-auth-library';
import { z } from 'zod';
import { Denied, Unavailable } from '../../fencing/model/errors.ts';
import { jsonIn } from '../../fencing/model/json-text.ts';
import { unlessGivenUp } from './errors.ts';

/** Who may push: https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions */
export interface PushRules {
  /** What the subscription names as its audience, such as the URL of the function. */
  readonly audience: string;
  /** E-mail address of the service account that the subscription pushes as. */
  readonly serviceAccount: string;
  /** Where the public keys of Google's tokens are had from, as PEM by key id; Google's own place when left out. */
  readonly certificatesUrl?: string;
  /**
   * Given only where Cloud Run's own check stands before us: it verifies the token and the account's permission, and
   * hands the token on with its signature removed. https://cloud.google.com/run/docs/troubleshooting#signature-removed
   */
  readonly behindCloudRun?: { readonly now: () => number };
}

const REMOVED = 'SIGNATURE_REMOVED_BY_GOOGLE';

const ISSUERS = ['https://accounts.google.com', 'accounts.google.com'];

const claims = z.object({ email: z.string(), email_verified: z.literal(true) });

const unsigned = z.object({ iss: z.literal(ISSUERS), aud: z.string(), exp: z.number() }).loose();

type Certificates = Awaited<ReturnType<OAuth2Client['getFederatedSignonCertsAsync']>>['certs'];

/**
 * Lets a push request through only with a token of Google's that was signed for this audience and for that service
 * account, and has not expired. Takes the Authorization header; the keys are kept for as long as their place allows.
 *
 * @throws Denied, and Unavailable when the keys cannot be had
 */
export const pushIdentity = ({
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
    if (token === undefined) throw new Denied('the push request carries no bearer token');
    const isStripped = behindCloudRun !== undefined && token.endsWith(`.${REMOVED}`);
    const payload = isStripped
      ? unexpired(token, audience, behindCloudRun.now())
      : await verified(client, token, await certificates(client, signal), audience);
    const read = claims.safeParse(payload);
    if (!read.success || read.data.email !== serviceAccount)
      throw new Denied('the push request comes from another account than the one that is expected');
  };
};

const certificates = async (client: OAuth2Client, signal: AbortSignal): Promise<Certificates> => {
  try {
    return (await unlessGivenUp(signal, () => client.getFederatedSignonCertsAsync())).certs;
  } catch (cause) {
    throw new Unavailable("the public keys of Google's tokens cannot be had", { cause });
  }
};

/** What the library says of a bad token quotes the token, which opens other doors: that error goes no further. */
const verified = async (
  client: OAuth2Client,
  token: string,
  certs: Certificates,
  audience: string,
): Promise<unknown> => {
  const ticket = await client.verifySignedJwtWithCertsAsync(token, certs, audience, ISSUERS).catch(() => null);
  if (ticket === null)
    throw new Denied('the token of the push request is not one of Google for this audience, or has expired');
  return ticket.getPayload();
};

/** What Cloud Run has verified already, read once more: it also lets those through whom others allow. */
const unexpired = (token: string, audience: string, now: number): unknown => {
  const read = unsigned.safeParse(payloadOf(token));
  if (read.success && read.data.aud === audience && read.data.exp * 1_000 > now) return read.data;
  throw new Denied('the token of the push request is not one of Google for this audience, or has expired');
};

const payloadOf = (token: string): unknown =>
  jsonIn(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
