import { createHash } from 'node:crypto';
import { z } from 'zod';
import { nonEmptyText, encodePart } from '../fencing/model/foreign-text.ts';
import { jsonTextSchema } from '../fencing/model/json-text.ts';

/**
 * An incident: the history of one boot of one machine, from the first hint to the release. It is written for people,
 * remains after the Node is gone, and never adds anything on which Cloudfence acts.
 */

const time = z.iso.datetime();
const reason = z.object({ code: z.string(), says: z.string() }).readonly();
const evidence = z.record(z.string(), z.string()).readonly();

/** What made Cloudfence look at the machine. */
const trigger = z
  .object({
    kind: z.enum(['event', 'sweep', 'person']),
    /** The id of the event at its source. */
    event: z.string().nullable(),
    /** The content of the event, such as `state-change-stopped`. */
    says: z.string().nullable(),
    /** When it happened, according to the event. */
    happened: time.nullable(),
    /** When the first run for it began. */
    received: time,
  })
  .readonly();

/** One live answer of the cloud about the machine. */
const proof = z
  .object({
    asked: time,
    answered: time,
    power: z.string(),
    generation: z.string().nullable(),
    /** Since when the machine has been in this state, according to the cloud. */
    since: time.nullable(),
    /** The cloud's request ID. Null if the cloud returns none. */
    requestId: z.string().nullable(),
    /** The answer in the cloud's own words. */
    evidence,
  })
  .readonly();

const step = z
  .object({
    step: z.string(),
    /** The object of the step, such as `pod/shop/db-0`. */
    target: z.string(),
    because: reason,
    started: time,
    ended: time,
    result: z.enum(['done', 'already', 'dry-run', 'refused', 'failed']),
    /** The answer of the API server or the cloud if the step was not done. */
    message: z.string().nullable(),
    /**
     * When the proof for the step was requested. Null if there was none, for example for a step that only removes what
     * Cloudfence wrote.
     */
    proof: time.nullable(),
  })
  .readonly();

/** How a run ended. If several runs end in the same way with the same reason, only the first is kept. */
const end = z
  .object({
    outcome: z.enum(['fenced', 'released', 'would-fence', 'would-release', 'waiting', 'refused', 'ignored', 'failed']),
    because: reason,
    at: time,
    run: z.string(),
  })
  .readonly();

/** What proved the fresh boot when the fence was released. */
const release = z
  .object({
    at: time,
    because: reason,
    /** The reason of a person who vouched for the return, or null. */
    accepted: z.string().nullable(),
    bootID: z.string(),
    generation: z.string().nullable(),
    evidence,
  })
  .readonly();

/** When each phase was reached, or null if Cloudfence has not seen it. */
const phases = z
  .object({
    /** When the machine went off, according to the cloud. */
    off: time.nullable(),
    /** When the event happened, according to the event, and when the first run for it began. */
    event: time.nullable(),
    received: time.nullable(),
    /** The first answer of the cloud which says that the machine is off. */
    proven: time.nullable(),
    marked: time.nullable(),
    podsDeleted: time.nullable(),
    /**
     * When a run first saw each of these: no attachment of the machine is left; the cloud reports no data disk on it;
     * the disks are attached elsewhere.
     */
    attachmentsGone: time.nullable(),
    disksFreed: time.nullable(),
    attachedElsewhere: time.nullable(),
    /** For each volume, the pod that uses it elsewhere is ready. For each other pod, its replacement is ready. */
    running: time.nullable().default(null),
    /** The fence is finished. */
    fenced: time.nullable(),
    /** When Cloudfence removed the out-of-service taint because the machine was no longer proven off. */
    lifted: time.nullable(),
    released: time.nullable(),
    /** Without a fence: the Node is ready in another boot. */
    returned: time.nullable().default(null),
  })
  .readonly();

/**
 * How the watch of Kubernetes' reaction ended:
 * - `running`: everything from the machine runs elsewhere
 * - `returned`: the Node came back in another boot, without a fence
 * - `fenced`: shadow mode was switched off, and Cloudfence fenced the Node
 * - `time-up`: the time limit of the watch was reached
 */
const watch = z.object({ ended: time, because: z.enum(['running', 'returned', 'fenced', 'time-up']) }).readonly();

const volume = z
  .object({ driver: z.string(), handle: z.string(), persistentVolume: z.string().nullable(), attachment: z.string() })
  .readonly();
const pod = z
  .object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    /**
     * The uid of the controller that replaces a pod without volumes. Null if no controller does, if the pod has volumes
     * that show its replacement, or if no run saw the pod.
     */
    replacedBy: z.string().nullable().default(null),
  })
  .readonly();

export const incidentSchema = z
  .object({
    kind: z.literal('cloudfence/incident'),
    version: z.literal(1),
    /** The id of the fence. Without a record on a Node, an id that is derived from cluster, machine, and boot. */
    id: nonEmptyText,
    fence: z.string().nullable(),
    /**
     * - `refused`, `failed`: the last run ended like this, and no fence began
     * - `would-fence`: shadow mode did not begin a fence
     * - `fencing`: the Node is marked, and the fence is not finished
     * - `fenced`: everything is free, and the quarantine stays
     * - `returning`: the machine is no longer proven off, and the quarantine stays
     * - `released`: the fence has ended
     * - `ended-by-hand`: someone else removed the fence
     */
    state: z.enum(['refused', 'failed', 'would-fence', 'fencing', 'fenced', 'returning', 'released', 'ended-by-hand']),
    cloud: z.string(),
    account: z.string().nullable(),
    region: z.string().nullable(),
    zone: z.string().nullable(),
    cluster: z.string().nullable(),
    node: z.string().nullable(),
    nodeUid: z.string().nullable(),
    machine: z.string(),
    /** The boot that ended, according to the cloud and the Node. */
    generation: z.string().nullable(),
    bootID: z.string().nullable(),
    /** When the fence began, according to its record. */
    begun: time.nullable(),
    /** Whether shadow mode was on and Cloudfence did nothing. */
    shadow: z.boolean(),
    /** The reason of a person who vouched that the machine is off, or null. */
    vouched: z.string().nullable(),
    triggers: z.array(trigger).readonly(),
    proofs: z.array(proof).readonly(),
    steps: z.array(step).readonly(),
    ends: z.array(end).readonly(),
    phases,
    /** How the watch of the volumes and pods ended. Null while it lasts, or if there is no watch. */
    watch: watch.nullable().default(null),
    /** The volumes and pods on the Node when the fence began, or would have begun. */
    volumes: z.array(volume).readonly(),
    pods: z.array(pod).readonly(),
    /** What Cloudfence left untouched, and why. */
    left: z.array(z.object({ what: z.string(), why: z.string() }).readonly()).readonly(),
    release: release.nullable(),
  })
  .readonly();

export type Incident = z.infer<typeof incidentSchema>;
export type Trigger = z.infer<typeof trigger>;
export type Proof = z.infer<typeof proof>;
export type IncidentStep = z.infer<typeof step>;
export type End = z.infer<typeof end>;
export type Phases = z.infer<typeof phases>;

/** Parses an incident, or returns null if the text is not an incident of this version. */
export const parseIncident = (text: string): Incident | null => {
  const read = jsonTextSchema.pipe(incidentSchema).safeParse(text);
  return read.success ? read.data : null;
};

type Named = Pick<Incident, 'cluster' | 'machine' | 'generation'>;

/** Returns the id of an incident without a fence. It is the same in every run about this boot. */
export const idWithoutFence = ({ cluster, machine, generation }: Named): string =>
  `unfenced-${createHash('sha256')
    .update(JSON.stringify([cluster, machine, generation]))
    .digest('hex')
    .slice(0, 16)}`;

const part = (name: string | null): string => (name === null || name === '' ? '-' : encodePart(name));

/** The names of all incidents begin with it. */
export const INCIDENTS = 'incidents/';

/**
 * Returns the name of the incident's object. The name contains the cluster and the Node, so a list of names is enough
 * to find the incidents of a Node.
 */
export const objectNameOf = ({ cluster, node, id }: Pick<Incident, 'cluster' | 'node' | 'id'>): string =>
  `${INCIDENTS}${part(cluster)}/${part(node)}/${part(id)}.json`;
