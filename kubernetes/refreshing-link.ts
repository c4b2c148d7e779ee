import type { RequestContext } from '@kubernetes/client-node/dist/gen/index.js';
import { abortOnSignal } from '../fencing/loop/ports.ts';
import { CloudfenceError, Unavailable } from '../fencing/model/errors.ts';
import type { CallClock } from './connection.ts';
import type { Link } from './exchange.ts';

/** A link to an API server whose access, such as a secret, is read again after some time and after a 401. */

/** Where the access to a cluster is read, and how long to keep it. */
interface Refreshing {
  readonly open: () => Promise<Link>;
  readonly clock: Pick<CallClock, 'now' | 'deadline'>;
  /** How long to use the access before it is read again, in ms. */
  readonly keptFor: number;
}

const UNAUTHORIZED = 401;
/**
 * After a 401, the access is not read again if it was read less than this time ago. In that case the access itself is
 * wrong, and the caller gets the 401.
 */
const FRESH_FOR_MS = 5_000;
/** The shortest time between two attempts to read the access that no 401 demands, in ms. */
const RETRIED_AFTER_MS = 30_000;

/** The access has to arrive within this time (ms). Otherwise, later requests would wait for it for ever. */
const OPENS_WITHIN_MS = 20_000;

/** @throws Unavailable if the access does not arrive in time, and what `open` throws */
const openInTime = async ({ open, clock }: Refreshing): Promise<Link> => {
  const late = clock.deadline(OPENS_WITHIN_MS);
  try {
    return await abortOnSignal(late, open);
  } catch (error) {
    if (!late.aborted || error instanceof CloudfenceError) throw error;
    const within = `${OPENS_WITHIN_MS / 1_000} s`;
    throw new Unavailable(`the access to the cluster did not arrive within ${within}`, { cause: error });
  }
};

/** The link that was opened last, when it was last read or tried to be read, and whether it may be old. */
const createHolder = (first: Link, refreshing: Refreshing) => {
  const { keptFor } = refreshing;
  const { now } = refreshing.clock;
  let held = { link: first, readAt: now(), isDoubtful: false };
  let renewal: Promise<Link> | null = null;
  const replace = async (): Promise<Link> => {
    const { link: before } = held;
    // Until the access arrives, it is doubtful. If it cannot be read, it stays so.
    held = { ...held, readAt: now(), isDoubtful: true };
    held = { link: await openInTime(refreshing), readAt: now(), isDoubtful: false };
    await before.close();
    return held.link;
  };
  return {
    link: (): Link => held.link,
    isFresh: (): boolean => !held.isDoubtful && now() - held.readAt < FRESH_FOR_MS,
    isDue: (): boolean => now() - held.readAt >= (held.isDoubtful ? RETRIED_AFTER_MS : keptFor),
    /** Requests that need it at the same time share one renewal. */
    renew: (): Promise<Link> => (renewal ??= replace().finally(() => (renewal = null))),
    /** Notes that a request got no answer: the server may have another address or another certificate by now. */
    doubt: (link: Link): void => {
      held = { ...held, isDoubtful: held.isDoubtful || link === held.link };
    },
  };
};

type Holder = ReturnType<typeof createHolder>;

/** Returns the link for the next request. If the access cannot be read now, the old one may still work. */
const currentLink = async ({ link, isDue, renew }: Holder): Promise<Link> => {
  if (!isDue()) return link();
  try {
    return await renew();
  } catch (error) {
    if (error instanceof CloudfenceError) return link();
    throw error;
  }
};

const sendOver = async (
  link: Link,
  { doubt }: Holder,
  ...request: Parameters<Link['send']>
): ReturnType<Link['send']> => {
  try {
    return await link.send(...request);
  } catch (error) {
    // An error of Cloudfence says that the request was not sent, or that its permit ended before the answer.
    if (!(error instanceof CloudfenceError)) doubt(link);
    throw error;
  }
};

const pathPrefixOf = ({ pathname }: URL): string => pathname.replace(/\/$/, '');

/** Changes the server to which a request is sent. */
const readdress = (request: RequestContext, from: Link, to: Link): void => {
  if (from.server === to.server) return;
  const [url, old, other] = [new URL(request.getUrl()), new URL(from.server), new URL(to.server)];
  const path = url.pathname.slice(pathPrefixOf(old).length);
  request.setUrl(`${other.origin}${pathPrefixOf(other)}${path}${url.search}`);
};

/**
 * Creates a link whose server and credentials may change. The link reads them again after `keptFor`, after a request
 * without an answer, and immediately when the API server no longer accepts the credentials. A request that was answered
 * with 401 had no effect. The link may therefore send it again under the same permit, even if it is destructive.
 */
export const refreshingLink = async (refreshing: Refreshing): Promise<Link> => {
  const first = await openInTime(refreshing);
  const holder = createHolder(first, refreshing);
  const { link, isFresh, renew } = holder;
  const authenticated = new WeakMap<RequestContext, Link>();
  const authenticate = async (request: RequestContext, by: Link): Promise<void> => {
    readdress(request, authenticated.get(request) ?? first, by);
    authenticated.set(request, by);
    await by.authentication.applySecurityAuthentication(request);
  };
  return {
    server: first.server,
    unverified: () => link().unverified(),
    authentication: {
      getName: () => 'credentials that may change',
      applySecurityAuthentication: async (request) => authenticate(request, await currentLink(holder)),
    },
    send: async (request, permit) => {
      const by = authenticated.get(request) ?? link();
      const answer = await sendOver(by, holder, request, permit);
      if (answer.httpStatusCode !== UNAUTHORIZED || (by === link() && isFresh())) return answer;
      const renewed = by === link() ? await renew() : link();
      await authenticate(request, renewed);
      return sendOver(renewed, holder, request, permit);
    },
    connect: async (count) => link().connect(count),
    close: async () => link().close(),
  };
};
