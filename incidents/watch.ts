import { because } from '../fencing/model/reason.ts';
import { earlier, incidentState } from './join.ts';
import type { End, Incident } from './incident.ts';

/**
 * What Kubernetes does after a run, according to later looks at the cluster. A run ends when its fence is finished, and
 * in shadow mode it changes nothing. So only a later look can see when the volumes were attached elsewhere and when the
 * new pods ran.
 */

/** What a look should check. */
export interface AftermathQuery extends Pick<Incident, 'nodeUid' | 'bootID' | 'volumes' | 'pods' | 'phases'> {
  readonly node: string;
}

/** What has happened to the volumes and the Node of an incident, according to one look. */
export interface Aftermath {
  /** Whether no attachment of the volumes to the old Node is left. */
  readonly detached: boolean;
  /** Whether each volume is attached to the Node of a pod that uses it elsewhere. */
  readonly attachedElsewhere: boolean;
  /**
   * Since when all of these pods, and the replacements of the pods without volumes, have been ready (epoch ms). Null
   * while one of them is not ready.
   */
  readonly runningSince: number | null;
  /** Since when the Node has been ready in another boot (epoch ms), or null. */
  readonly returnedSince: number | null;
  /** Whether the Node has a fence of Cloudfence. */
  readonly fenced: boolean;
  /** Whether the Node is gone, or another Node has its name. */
  readonly nodeGone: boolean;
}

/** Looks at a cluster. @throws CloudfenceError */
export type ReadAftermath = (query: AftermathQuery, signal: AbortSignal) => Promise<Aftermath>;

const HOUR_MS = 3_600_000;

/** How long an incident is watched (ms). Kubernetes alone can take many hours, or may never finish. */
const WATCHED_FOR_MS = { fence: HOUR_MS, shadow: 24 * HOUR_MS };

const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Returns whether Cloudfence would have fenced the machine, even if a later run in shadow mode refused. */
export const isSimulated = ({ shadow, fence, ends }: Pick<Incident, 'shadow' | 'fence' | 'ends'>): boolean =>
  shadow && fence === null && ends.some(({ outcome }) => outcome === 'would-fence');

/** Returns whether a later look can show that something from the machine runs elsewhere. */
export const isFollowed = ({ volumes, pods }: Pick<Incident, 'volumes' | 'pods'>): boolean =>
  volumes.length > 0 || pods.some(({ replacedBy }) => replacedBy !== null);

/** Returns whether later looks can add to an incident. */
export const isWatched = (incident: Incident): boolean => {
  const { watch, node, cluster, fence, state } = incident;
  if (watch !== null || node === null || cluster === null) return false;
  return (
    isSimulated(incident) || (isFollowed(incident) && (fence !== null || state === 'fencing' || state === 'fenced'))
  );
};

const beganAt = ({ begun, ends }: Incident): string | null => begun ?? ends[0]?.at ?? null;

const isTimeUp = (incident: Incident, now: number): boolean => {
  const began = beganAt(incident);
  const lasts = isSimulated(incident) ? WATCHED_FOR_MS.shadow : WATCHED_FOR_MS.fence;
  return began === null || now - Date.parse(began) > lasts;
};

/**
 * Limits a time of the cluster's clock to the duration of the incident. A kubelet wrote the time, so it must be neither
 * before the incident nor in the future.
 */
const within = (since: number, incident: Incident, now: number): string => {
  const first = Date.parse(incident.phases.received ?? beganAt(incident) ?? '');
  return isoTime(Math.min(now, Math.max(since, Number.isNaN(first) ? since : first)));
};

type Why = NonNullable<Incident['watch']>['because'];

const endOf = (incident: Incident, seen: Aftermath | null, now: number): Why | null => {
  if (incident.phases.running !== null) return 'running';
  if (incident.phases.returned !== null) return 'returned';
  if (isSimulated(incident) && seen?.fenced) return 'fenced';
  return isTimeUp(incident, now) ? 'time-up' : null;
};

const FREED = because('fenced', 'a later look found no volume attached to the machine any more, so the fence is done');

/**
 * Returns the end of a fence whose Node is gone. After Kubernetes has detached the last volume, no run finds anything
 * of the machine, so only this look sees the end. While the Node exists, only a run can end a fence.
 */
const lateEnd = ({ state }: Incident, { detached, nodeGone }: Aftermath, now: number): End | null =>
  state === 'fencing' && detached && nodeGone
    ? { outcome: 'fenced', because: FREED, at: isoTime(now), run: 'watch' }
    : null;

const withSeen = (incident: Incident, seen: Aftermath, now: number): Incident => {
  // What happens during a fence was not done by Kubernetes alone.
  if (isSimulated(incident) && seen.fenced) return incident;
  const { phases } = incident;
  // A pod is ready only after its volumes are attached.
  const running = seen.runningSince === null ? null : within(seen.runningSince, incident, now);
  const at = earlier(isoTime(now), running);
  const returned =
    !isSimulated(incident) || seen.returnedSince === null ? null : within(seen.returnedSince, incident, now);
  const end = lateEnd(incident, seen, now);
  const news = {
    attachmentsGone: phases.attachmentsGone ?? (seen.detached ? at : null),
    attachedElsewhere: phases.attachedElsewhere ?? (seen.attachedElsewhere ? at : null),
    running: earlier(phases.running, running),
    returned: earlier(phases.returned, returned),
    fenced: phases.fenced ?? end?.at ?? null,
  };
  const isNew = Object.entries(news).some(([phase, time]) => time !== null && Reflect.get(phases, phase) === null);
  if (!isNew) return incident;
  const after = {
    ...incident,
    ends: end === null ? incident.ends : [...incident.ends, end],
    phases: { ...phases, ...news },
  };
  return { ...after, state: incidentState(after) };
};

/**
 * Returns the incident with the additions of a look, or the incident itself if nothing is new. `seen` is null if the
 * cluster did not answer. Pure.
 */
export const withAftermath = (incident: Incident, seen: Aftermath | null, now: number): Incident => {
  if (!isWatched(incident)) return incident;
  const after = seen === null ? incident : withSeen(incident, seen, now);
  const because = endOf(after, seen, now);
  return because === null ? after : { ...after, watch: { ended: isoTime(now), because } };
};
