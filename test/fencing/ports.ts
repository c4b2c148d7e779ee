import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Cloud } from '../../fencing/model/cloud.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import type { Clock, Ports } from '../../fencing/loop/ports.ts';
import { startRun, type RunState, type Start } from '../../fencing/loop/state.ts';
import { diskOf, incarnationsOf, machineOf, NOW } from './view-builder.ts';

/** Stand-ins for everything outside a run. A port that a test does not provide is never called. */

const unasked = () => Promise.reject(new Error('nobody asks for this'));

export const clusterThat = (answers: Partial<Cluster> = {}): Cluster => ({
  name: 'blue',
  find: unasked,
  identify: unasked,
  look: unasked,
  attachment: unasked,
  recheck: unasked,
  apply: unasked,
  recordEvent: unasked,
  surveyConnectivity: unasked,
  reserve: unasked,
  conclude: unasked,
  concludeUnless: unasked,
  suspects: unasked,
  ...answers,
});

export const cloudThat = (answers: Partial<Cloud> = {}): Cloud => ({
  name: 'a-cloud',
  look: unasked,
  witness: unasked,
  detach: unasked,
  powerOff: unasked,
  machineOf,
  immutableIdsOf: incarnationsOf,
  unservedScope: () => null,
  diskOf,
  ...answers,
});

/** A clock that moves by 10 ms with each reading. Tests can read its timers, which never end. */
export const steppingClock = (begins = 1_000): Clock & { readonly timers: readonly number[] } => {
  let mono = begins;
  const timers: number[] = [];
  return {
    timers,
    now: () => {
      mono += 10;
      return { wall: NOW + mono, mono };
    },
    sleep: async (ms) => void (mono += ms),
    timeout: (ms) => {
      timers.push(ms);
      return new AbortController().signal;
    },
  };
};

export const portsThat = (answers: Partial<Ports> = {}): Ports => ({
  cloud: cloudThat(),
  clusters: [clusterThat()],
  clock: steppingClock(),
  signal: new AbortController().signal,
  observe: () => undefined,
  ...answers,
});

/** A run about machine m-1 that knows nothing yet. */
export const begun = (change: Partial<Start> = {}): RunState =>
  startRun({
    request: { machine: 'm-1', intent: 'fence', accepted: null, vouched: null },
    policy: defaultPolicy,
    identityRules: cloudThat(),
    runId: 'run',
    deadline: 60_000,
    ...change,
  });
