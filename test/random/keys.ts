import {
  HttpMethod,
  RequestContext,
  ResponseContext,
  type SecurityAuthentication,
} from '@kubernetes/client-node/dist/gen/index.js';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { refreshingLink } from '../../kubernetes/refreshing-link.ts';
import { bearerAuthentication, type Link } from '../../kubernetes/exchange.ts';
import type { Engine } from './engine.ts';
import type { Call, Network, Service } from './network.ts';
import type { Process } from './process.ts';

/**
 * Keys that people rotate: the token in the secret of a cluster, the credentials for the cloud, and those for the
 * queue. The previous key is accepted for a while longer, or not at all. A process keeps the key that it has read. It
 * keeps the token of a cluster, which it reads through the shipped link, until that is rejected or old, and the other
 * keys until they expire.
 */
export interface Keys {
  readonly rotate: (service: Service, overlapMs: number) => void;
  /** Returns the network in which clouds and queues reject a key that is not valid any more. */
  readonly guarding: (network: Network) => Network;
  /** Sends one call to a cluster, through the shipped link, which reads the key again after a 401. */
  readonly toCluster: <T>(process: Process, permit: Permit | null, call: ClusterCall<T>) => Promise<T>;
}

export interface ClusterCall<T> {
  /** Passes the network. The server rejects the call if `isValid` returns false when it arrives. */
  readonly send: (isValid: () => boolean) => Promise<T>;
  readonly isRejection: (error: unknown) => boolean;
}

/** How long credentials of a cloud are valid. The SDK fetches new ones before that. */
const EXPIRES_MS = 15 * 60_000;
const SECRET_KEPT_FOR_MS = 10 * 60_000;

interface Held {
  readonly key: number;
  readonly since: number;
}

interface World {
  readonly engine: Engine;
  readonly network: Network;
  readonly note: (what: string) => void;
}

export const createKeys = ({ engine, network, note }: World): Keys => {
  const newest: Record<Service, number> = { kubernetes: 1, cloud: 1, queue: 1 };
  const validUntil = new Map<string, number>();
  const isValid = (service: Service, key: number): boolean =>
    key === newest[service] || engine.now() < (validUntil.get(`${service} ${key}`) ?? 0);
  const rotate: Keys['rotate'] = (service, overlapMs) => {
    validUntil.set(`${service} ${newest[service]}`, engine.now() + overlapMs);
    newest[service] += 1;
  };

  const held = new WeakMap<Process, Map<Service, Held>>();
  const keyOf = (process: Process, service: Service): number => {
    const own = held.get(process) ?? new Map<Service, Held>();
    held.set(process, own);
    const before = own.get(service);
    if (before && engine.now() - before.since < EXPIRES_MS) return before.key;
    own.set(service, { key: newest[service], since: engine.now() });
    return newest[service];
  };
  const guardedCall = <T>(process: Process, call: Call<T>): Call<T> => {
    const key = keyOf(process, call.service);
    return {
      ...call,
      arrives: (age, hides) => {
        if (isValid(call.service, key)) return call.arrives(age, hides);
        note(`key rejected by ${call.service}`);
        throw call.denied();
      },
    };
  };

  /** What a request of the link stands for. Returns the status of its answer. */
  const calls = new WeakMap<RequestContext, (key: number) => Promise<number>>();
  const readSecret = (process: Process): Promise<number> =>
    network.call(process, {
      service: 'cloud',
      signal: undefined,
      isWrite: false,
      throttled: () => new Unavailable('the secret store is throttled'),
      failed: () => new Unavailable('the secret store is not available'),
      denied: () => new Unavailable('the secret store denies the call'),
      arrives: () => newest.kubernetes,
    });
  const open = async (process: Process): Promise<Link> => {
    const key = await readSecret(process);
    const authentication: SecurityAuthentication = bearerAuthentication(async () => String(key));
    return {
      server: 'https://simulated',
      unverified: () => false,
      authentication,
      send: async (request) => {
        const sent = Number((request.getHeaders()['Authorization'] ?? '').replace('Bearer ', ''));
        return new ResponseContext((await calls.get(request)?.(sent)) ?? 500, {}, noBody);
      },
      connect: async () => undefined,
      close: async () => undefined,
    };
  };
  const links = new WeakMap<Process, Promise<Link>>();
  const clock = { now: engine.now, deadline: () => new AbortController().signal };
  const linkOf = (process: Process): Promise<Link> => {
    const opened =
      links.get(process) ?? refreshingLink({ open: () => open(process), clock, keptFor: SECRET_KEPT_FOR_MS });
    links.set(process, opened);
    // A link that could not be opened is opened again by the next call.
    opened.catch(() => links.delete(process));
    return opened;
  };
  const toCluster: Keys['toCluster'] = async <T>(
    process: Process,
    permit: Permit | null,
    { send, isRejection }: ClusterCall<T>,
  ) => {
    const link = await linkOf(process);
    const request = new RequestContext('https://simulated/', HttpMethod.GET);
    const answers: { readonly value: T }[] = [];
    let rejection: unknown;
    calls.set(request, async (key) => {
      try {
        answers.push({ value: await send(() => isValid('kubernetes', key)) });
        return 200;
      } catch (error) {
        if (!isRejection(error)) throw error;
        if (!isValid('kubernetes', key)) note('key rejected by kubernetes');
        rejection = error;
        return 401;
      }
    });
    await link.authentication.applySecurityAuthentication(request);
    await link.send(request, permit);
    const [answer] = answers;
    if (!answer) throw rejection;
    return answer.value;
  };
  return {
    rotate,
    guarding: ({ call }) => ({
      call: (process, sent) => call(process, sent.service === 'kubernetes' ? sent : guardedCall(process, sent)),
    }),
    toCluster,
  };
};

const noBody = { text: async () => '', binary: async () => Buffer.from(''), stream: () => new Blob([]).stream() };
