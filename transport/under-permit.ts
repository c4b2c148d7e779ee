import type { Agent, ClientRequest } from 'node:http';
import { CloudfenceError, ProofExpired, Unavailable } from '../fencing/model/errors.ts';
import type { Permit } from '../fencing/model/permit.ts';
import { hold, type Held } from './hold.ts';

declare module 'node:http' {
  interface Agent {
    /** How Node hands a request over to its agent. */
    addRequest(request: ClientRequest, options: object): void;
  }
}

/** One destructive call, whatever SDK sends it. */
export interface PermittedCall {
  /** What it is called in messages: its permission. */
  readonly name: string;
  readonly permit: Permit;
  /** The caller's: ends what is in flight. */
  readonly signal: AbortSignal | undefined;
}

/** The way that a permitted call takes to the wire. */
export interface Passage {
  /** Ends whatever the call still waits for; an SDK is given this one and no other. */
  readonly signal: AbortSignal;
  /**
   * The last check where no agent makes the connection: a stand-in in this process, or a transport that takes no agent.
   */
  readonly check: () => void;
  /** The same connections; but each request is held until its own stands, and checked then. */
  readonly through: (agent: Agent) => Agent;
}

interface OpenPassage extends Passage {
  /** Ends the call: what has not left never will, and what is under way is reset. */
  readonly end: () => void;
  /** Why the call was ended here, or null. */
  readonly why: () => CloudfenceError | null;
  /** The call is over: what an SDK may have left behind does not leave any more. */
  readonly close: () => void;
}

const unknown = (name: string): Unavailable =>
  new Unavailable(
    `${name} was not answered while its proof lasted: its connection was reset, and whether it took effect is unknown until the next look`,
  );

const notSent = ({ name, permit }: PermittedCall): CloudfenceError =>
  permit.ended.aborted
    ? new ProofExpired(`${name} found no connection while its proof lasted; it was not sent`)
    : new Unavailable(`${name} was given up before it was sent`);

const refusalOf = ({ permit }: PermittedCall): CloudfenceError | null => {
  try {
    permit.check();
    return null;
  } catch (error) {
    if (error instanceof CloudfenceError) return error;
    throw error;
  }
};

/** An agent of the same kind over the same connections, which shows each request to `onlooker` before it gets one. */
const watched = (agent: Agent, onlooker: (request: ClientRequest) => void): Agent =>
  Object.create(agent, {
    addRequest: {
      value: (request: ClientRequest, options: object) => {
        onlooker(request);
        agent.addRequest(request, options);
      },
    },
  });

/** The requests of one call, as they come through its agents. */
const requestsOf = (refusal: () => Error | null, onlooker: () => void) => {
  const held = new Set<Held>();
  const ours = new WeakSet<Agent>();
  const watch = (request: ClientRequest): void => {
    onlooker();
    const one = hold(request, refusal);
    held.add(one);
    request.once('close', () => held.delete(one));
  };
  const through = (agent: Agent): Agent => {
    if (ours.has(agent)) return agent;
    const other = watched(agent, watch);
    ours.add(other);
    return other;
  };
  return { through, each: (then: (one: Held) => void): void => held.forEach(then) };
};

const openPassage = (call: PermittedCall): OpenPassage => {
  const ending = new AbortController();
  let perhapsLeft = false;
  let why: CloudfenceError | null = null;
  const refusal = (): CloudfenceError | null => {
    why ??= refusalOf(call);
    perhapsLeft = why === null;
    return why;
  };
  const { through, each } = requestsOf(refusal, () => (perhapsLeft = false));
  const check = (): void => {
    const refused = refusal();
    if (refused) throw refused;
  };
  const end = (): void => {
    const because = (why ??= perhapsLeft ? unknown(call.name) : notSent(call));
    each((one) => one.cut(because));
    ending.abort(because);
  };
  const close = (): void => {
    const because = (why ??= notSent(call));
    each((one) => one.giveUp(because));
  };
  return { signal: ending.signal, check, through, end, why: () => why, close };
};

/**
 * Sends one destructive call, so that it leaves under its permit or not at all, and is heard of under its permit or not
 * at all.
 *
 * The permit is checked when the connection stands, TLS and all, right before the first byte: the way there may lead
 * through a name server, a proxy, a handshake and a queue of others. When it ends before the whole answer is there, the
 * connection is reset, so that what still lies in a buffer here does not leave later; the same when the caller gives
 * up. Whether such a call took effect nobody knows: only the next look tells.
 *
 * @throws ProofExpired (nothing has left), Unavailable (nothing is known), and what `send` throws
 */
export const underPermit = async <T>(call: PermittedCall, send: (passage: Passage) => Promise<T>): Promise<T> => {
  const passage = openPassage(call);
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const over = AbortSignal.any([...(call.signal ? [call.signal] : []), call.permit.ended]);
  const end = (): void => {
    passage.end();
    reject(passage.why());
  };
  if (over.aborted) end();
  over.addEventListener('abort', end, { once: true });
  try {
    const sending = over.aborted ? ended : send(passage);
    return await Promise.race([sending, ended]);
  } catch (caught) {
    throw passage.why() ?? caught;
  } finally {
    over.removeEventListener('abort', end);
    passage.close();
  }
};
