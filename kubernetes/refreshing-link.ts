import type { Link } from './link.ts';

/** Credentials as they come from a secret, and how long they may be kept. */
export interface Refreshing {
  readonly open: () => Promise<Link>;
  /** Wall clock, epoch ms. */
  readonly now: () => number;
  /** Ms after which the secret is read again. */
  readonly keptFor: number;
}

const UNAUTHORIZED = 401;
/** A secret that was just read is not read again for a 401: it is the wrong one, and says so. */
const FRESH_FOR_MS = 5_000;

/**
 * A link whose credentials live in a secret: read again after a while, and at once when the API server says that it does not
 * know them any more. A request that was answered with 401 had no effect, so it may be sent again, even a destructive one: under
 * the same permit.
 */
export const refreshingLink = async ({ open, now, keptFor }: Refreshing): Promise<Link> => {
  let held = { link: await open(), since: now() };
  const renew = async (): Promise<Link> => {
    const before = held.link;
    held = { link: await open(), since: now() };
    await before.close();
    return held.link;
  };
  const current = async (): Promise<Link> => (now() - held.since >= keptFor ? renew() : held.link);
  return {
    server: held.link.server,
    unverified: () => held.link.unverified(),
    authentication: {
      getName: () => 'credentials from a secret',
      applySecurityAuthentication: async (request) => (await current()).authentication.applySecurityAuthentication(request),
    },
    send: async (request, permit) => {
      const answer = await held.link.send(request, permit);
      if (answer.httpStatusCode !== UNAUTHORIZED || now() - held.since < FRESH_FOR_MS) return answer;
      const renewed = await renew();
      await renewed.authentication.applySecurityAuthentication(request);
      return renewed.send(request, permit);
    },
    close: async () => held.link.close(),
  };
};
