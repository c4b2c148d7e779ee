/** The calls of a fence, the round of the network in which each was made, and the totals. */

export interface TracedRequest {
  readonly api: 'cluster' | 'cloud';
  /** The verb and the resource, or the name of the call to the cloud. */
  readonly call: string;
  readonly path: string;
  /** The round in which it arrived. Its answer passes when that round ends. */
  readonly round: number;
  /** Virtual time (ms). */
  readonly at: number;
  /** Bytes of the bodies. */
  readonly sent: number;
  readonly received: number;
  /** Whether its answer says that a machine is off. */
  readonly offStates: boolean;
}

/** Traffic on the wire, with TLS and both ways. */
export interface Wire {
  readonly bytes: number;
  readonly connections: number;
  /** The round in which each connection to the API server was opened. */
  readonly toCluster: readonly number[];
}

export interface Trace {
  readonly requests: readonly TracedRequest[];
  readonly wire: Wire;
  /** Virtual time at the end (ms). */
  readonly ended: number;
}

export interface Counts {
  /**
   * Consecutive round trips, from the first answer of the cloud that says off to the answer to the first delete of a
   * pod, including connections.
   */
  readonly toFirstDelete: number;
  readonly toLastDelete: number;
  /** All calls. */
  readonly cluster: number;
  readonly cloud: number;
  readonly kilobytes: number;
  /**
   * Calls for each second in which the run waits for Kubernetes: from the last delete of a pod to the look that
   * follows.
   */
  readonly perSecondOfWaiting: number;
  /** Calls from that look to the end. */
  readonly afterWaiting: number;
}

const isPodDelete = ({ api, call }: TracedRequest): boolean => api === 'cluster' && call === 'DELETE pods';

const isLook = ({ api, call }: TracedRequest): boolean => api === 'cluster' && call === 'GET csinodes';

/** A wait ends with the first look, even if another wait follows. */
const waiting = ({ requests, ended }: Trace): Pick<Counts, 'perSecondOfWaiting' | 'afterWaiting'> => {
  const since = Math.max(...requests.filter(isPodDelete).map(({ at }) => at));
  const after = requests.filter(({ at }) => at > since);
  const until = after.find(isLook)?.at ?? ended;
  const calls = after.filter(({ at }) => at < until).length;
  return {
    perSecondOfWaiting: Number((calls / ((until - since) / 1_000)).toFixed(1)),
    afterWaiting: after.length - calls,
  };
};

/** @throws if no answer said off, or no pod was deleted, because then the counts have no meaning */
export const countsOf = (trace: Trace): Counts => {
  const { requests, wire } = trace;
  const off = requests.find(({ offStates }) => offStates);
  const deletes = requests.filter(isPodDelete).map(({ round }) => round);
  if (!off || deletes.length === 0) throw new Error('nothing was fenced');
  return {
    toFirstDelete: Math.min(...deletes) - off.round,
    toLastDelete: Math.max(...deletes) - off.round,
    cluster: requests.filter(({ api }) => api === 'cluster').length,
    cloud: requests.filter(({ api }) => api === 'cloud').length,
    kilobytes: Math.ceil(wire.bytes / 1_000),
    ...waiting(trace),
  };
};

const LONGEST_NAME = 40;

const lastPart = (path: string): string =>
  (path.split('?', 1)[0] ?? '').split('/').at(-1)?.slice(0, LONGEST_NAME) ?? '';

const inWords = ({ api, call, path, received, offStates }: TracedRequest): string =>
  api === 'cloud'
    ? `cloud ${call} (${received} B${offStates ? ', OFF' : ''})`
    : `${call}${call.startsWith('LIST') ? '' : ` ${lastPart(path)}`} (${received} B)`;

/** Lists the rounds from the first answer that says off, which is round 0, each with what arrives in it. */
export const roundsInWords = ({ requests }: Trace): readonly string[] => {
  const off = requests.find(({ offStates }) => offStates)?.round ?? 0;
  const last = Math.max(...requests.map(({ round }) => round));
  return Array.from({ length: last - off + 1 }, (_, nth) => {
    const asked = requests.filter(({ round }) => round === off + nth);
    const words = asked.map(inWords);
    return `${String(nth).padStart(4)}  ${words.length === 0 ? '(new connections)' : words.join(' | ')}`;
  });
};
