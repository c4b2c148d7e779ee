import type { ClusterEvent } from '../model/cluster.ts';
import { type Ending, type RunState, viewOf } from './state.ts';
import { leftOver, saysDeclined } from '../rules/finish.ts';
import type { Outcome, OutcomeKind } from '../model/outcome.ts';
import { because, type Reason } from '../model/reason.ts';
import type { Moment } from '../rules/view.ts';

/**
 * How a run ends that has to wait longer than it may. What was declined below a machine that is off is named beside it,
 * as a failure, for a person has to mend it; what is waited for may still come, so that it is looked at again.
 */
export const waitingEnd = ({ memory: { declined, firstOff } }: RunState, reason: Reason, ms: number): Ending =>
  declined.size > 0 && firstOff !== null
    ? {
        outcome: 'failed',
        reason: because('step-refused', `${saysDeclined(declined)}; meanwhile ${reason.says}`),
        lookAgainIn: ms,
        retry: true,
      }
    : { outcome: 'waiting', reason, lookAgainIn: ms, retry: false };

/** The run's time is up: say what it was waiting for, or what kept failing. */
export const endingOf = (known: RunState): Ending => {
  const { outcome, reason, ms } = known.lately ?? {
    outcome: 'waiting',
    reason: because('not-fenced', 'the time was up before anything was learned'),
    ms: 1_000,
  };
  return outcome === 'failed' ? { outcome, reason, lookAgainIn: null, retry: true } : waitingEnd(known, reason, ms);
};

/** The Node as last seen, or as something that outlived it still names it. */
const lastNode = ({ cluster, place, record }: RunState): Pick<Outcome, 'node' | 'nodeUid'> => {
  const node = cluster?.says.node;
  if (node) return { node: node.name, nodeUid: node.uid };
  return { node: cluster?.says.nodeName ?? place?.node ?? record?.node ?? null, nodeUid: record?.nodeUid ?? null };
};

/** Only below a machine that is off is anything "left": elsewhere nothing was ever going to be touched. */
const leftIn = (known: RunState, now: Moment): Outcome['left'] => {
  const view = viewOf(known, now);
  return view && known.memory.firstOff ? leftOver(view) : [];
};

export const outcomeOf = (known: RunState, now: Moment): Outcome => ({
  ...(known.ending ?? endingOf(known)),
  ...lastNode(known),
  machine: known.request.machine,
  cluster: known.place?.cluster ?? null,
  mode: known.steps.some((step) => step.step === 'delete-node') ? 'delete' : 'taint',
  dryRun: known.policy.dryRun,
  evidence: known.machine?.says.evidence ?? {},
  generation: known.machine?.says.generation ?? null,
  provenAt: known.memory.firstOff?.wall ?? null,
  steps: known.steps,
  left: leftIn(known, now),
  record: known.record,
});

const eventReasons: Record<OutcomeKind, string | null> = {
  fenced: 'MachineFenced',
  released: 'NodeReleased',
  'would-fence': null,
  'would-release': null,
  refused: 'FencingRefused',
  failed: 'FencingFailed',
  waiting: null,
  ignored: null,
};

/** What the Node's Events tell people: ends and alarms, not every look. A dry run leaves no trace. */
export const eventFor = ({ outcome, reason, dryRun, node, steps }: Outcome): ClusterEvent | null => {
  const word = reason.code === 'stopping-too-long' ? 'MachineStoppingTooLong' : eventReasons[outcome];
  if (word === null || dryRun || node === null) return null;
  if ((outcome === 'fenced' || outcome === 'released') && steps.length === 0) return null;
  const calm = outcome === 'released';
  return { type: calm ? 'Normal' : 'Warning', reason: word, message: reason.says };
};
