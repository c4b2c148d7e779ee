import { isImagined, type Outcome, type StepReport } from '../fencing/model/outcome.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import { stepProperties } from '../fencing/model/steps.ts';
import { hasActed, nothingSeen, phasesOf, stateOf } from './join.ts';
import { idWithoutFence, type Incident, type IncidentStep, type Proof, type Trigger } from './incident.ts';
import type { RunLog } from './run-log.ts';

/** Creates an incident from the report of one run. */

/** The trigger of the run, and the location of its machine if the message names it. */
export interface Occasion {
  readonly trigger: Omit<Trigger, 'received'>;
  readonly account: string | null;
  readonly region: string | null;
}

const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Returns when the proof for a step was requested: the latest answer before the step was sent. */
const proofBehind = (step: StepReport, proofs: readonly Proof[]): string | null =>
  stepProperties[step.step].releases
    ? null
    : (proofs.findLast(({ answered }) => answered <= isoTime(step.at))?.asked ?? null);

const stepOf = (step: StepReport, proofs: readonly Proof[]): IncidentStep => ({
  step: step.step,
  target: step.target,
  because: step.because,
  started: isoTime(step.at),
  ended: isoTime(step.at + step.ms),
  result: step.result,
  message: step.message,
  proof: proofBehind(step, proofs),
});

/**
 * Returns whether the run belongs in the history: it changed something, it ended a fence, or it refused to act on a
 * machine of one of the configured clusters. A dry run is not stored. If the Node was already gone, there is no record,
 * but the run may still have done a part of the fence. The note about the beginning of a stop does not belong to a
 * fence.
 */
const isWorthKeeping = (outcome: Outcome, { fence }: RunLog): boolean => {
  const { outcome: kind, steps, provenAt, cluster } = outcome;
  if (outcome.dryRun || cluster === null) return false;
  if (kind === 'refused' || kind === 'would-fence' || kind === 'would-release') return true;
  if (kind === 'failed') return fence !== null || provenAt !== null;
  const hasPoweredOff = steps.some(({ step }) => step === 'power-off');
  return (
    (fence !== null || provenAt !== null || hasPoweredOff) &&
    !isImagined(outcome) &&
    steps.some(({ step }) => step !== 'note-stopping')
  );
};

/** Returns a pod with its replacement. The pod of a job may have finished before a sweep looks. */
const replaceable = (
  { namespace, name, uid }: FenceRecord['pods'][number],
  { found }: Pick<RunLog, 'found'>,
): Incident['pods'][number] => {
  const seen = found?.pods.find((pod) => pod.uid === uid);
  const isFollowed = seen?.kind === 'other' && seen.volumes.length === 0 && seen.unresolved.length === 0;
  return { namespace, name, uid, replacedBy: isFollowed ? seen.owner : null };
};

/** Returns what the record says about the beginning of the fence. */
const beginningIn = (
  fence: FenceRecord | null,
  log: Pick<RunLog, 'found'>,
): Pick<Incident, 'bootID' | 'begun' | 'vouched' | 'volumes' | 'pods'> => ({
  bootID: fence?.bootID ?? null,
  begun: fence?.begun ?? null,
  vouched: fence?.vouched ?? null,
  volumes: (fence?.volumes ?? []).map(({ driver, handle, persistentVolume, attachment }) => ({
    driver,
    handle,
    persistentVolume,
    attachment,
  })),
  pods: (fence?.pods ?? []).map((pod) => replaceable(pod, log)),
});

/** Returns what the machine held, if there is no record: in shadow mode, and if the Node was already gone. */
const beginningSeen = ({ steps }: Outcome, log: RunLog): ReturnType<typeof beginningIn> => {
  const { found } = log;
  const deleted = new Set(steps.map(({ step, target }) => `${step} ${target}`));
  return {
    ...beginningIn(null, log),
    bootID: found?.node?.bootID ?? null,
    volumes: (found?.volumes ?? [])
      .filter(({ attachment }) => attachment !== null)
      .map(({ driver, handle, persistentVolume, attachmentName: attachment }) => ({
        driver,
        handle,
        persistentVolume,
        attachment,
      })),
    pods: (found?.pods ?? [])
      .filter(({ namespace, name }) => deleted.has(`delete-pod pod/${namespace}/${name}`))
      .map((pod) => replaceable(pod, log)),
  };
};

/** Returns the machine of the incident, and the id under which every run about it finds the incident. */
const subjectOf = ({ machine, cluster, ...outcome }: Outcome, { cloud, zone }: RunLog, fence: FenceRecord | null) => {
  const generation = fence ? fence.generation : outcome.generation;
  const fenceId = fence?.fence ?? null;
  const id = fenceId ?? idWithoutFence({ cluster, machine, generation });
  const { node, nodeUid } = outcome;
  return { id, fence: fenceId, cloud, zone, cluster, node, nodeUid, machine, generation };
};

/** Returns what one run contributes to an incident, or null if there is nothing to store. Pure. */
export const incidentOfRun = (outcome: Outcome, log: RunLog, occasion: Occasion, now: number): Incident | null => {
  if (!isWorthKeeping(outcome, log)) return null;
  // A record about another machine does not belong to a fence of this one.
  const fence = log.fence?.machine === outcome.machine ? log.fence : null;
  const subject = subjectOf(outcome, log, fence);
  const isWithoutRecord = fence === null && outcome.outcome !== 'refused' && outcome.outcome !== 'failed';
  const beginning = isWithoutRecord ? beginningSeen(outcome, log) : beginningIn(fence, log);
  const lists = {
    triggers: [{ ...occasion.trigger, received: isoTime(log.began ?? now) }],
    proofs: log.proofs,
    steps: outcome.steps.map((step) => stepOf(step, log.proofs)),
    ends: [{ outcome: outcome.outcome, because: outcome.reason, at: isoTime(now), run: log.run }],
  };
  const phases = phasesOf({ ...lists, begun: beginning.begun }, { ...nothingSeen, ...log.seen });
  return {
    kind: 'cloudfence/incident',
    version: 1,
    state: stateOf({ fence: subject.fence, ...lists, phases }),
    ...subject,
    account: occasion.account,
    region: occasion.region,
    shadow: outcome.shadow && !hasActed(lists),
    ...beginning,
    ...lists,
    watch: null,
    phases,
    left: outcome.left,
    release: log.release,
  };
};
