import type { Api } from '../../testbed/api.ts';
import { MERGE, STRATEGIC } from '../../testbed/api.ts';
import type { Node, Pod } from '../../testbed/objects.ts';
import type { Machine } from './kubelet-node.ts';
import { volumesOf } from './kubelet-volumes.ts';

/** What one boot of a kubelet knows about its pods. The next boot knows nothing. */
export interface PodWorker {
  /** Brings what runs closer to what is wanted, as far as possible now. */
  readonly sync: (pods: readonly Pod[], node: Node | undefined) => Promise<void>;
}

const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

const podPath = ({ metadata }: Pod): string => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;

const containersIn = ({ spec }: Pod, state: object, ready: boolean) =>
  spec.containers.map(({ name, image }) => ({
    name,
    image,
    imageID: image,
    ready,
    started: ready,
    restartCount: 0,
    state,
  }));

const READY_CONDITIONS = ['Initialized', 'ContainersReady', 'Ready'];

const conditionsAre = (status: 'True' | 'False') =>
  READY_CONDITIONS.map((type) => ({ type, status, lastTransitionTime: now() }));

const runningStatus = (pod: Pod, podIP: string) => ({
  phase: 'Running',
  startTime: now(),
  podIP,
  podIPs: [{ ip: podIP }],
  conditions: conditionsAre('True'),
  containerStatuses: containersIn(pod, { running: { startedAt: now() } }, true),
});

const endedStatus = (pod: Pod) => ({
  phase: 'Succeeded',
  conditions: conditionsAre('False').slice(1),
  containerStatuses: containersIn(
    pod,
    { terminated: { exitCode: 0, startedAt: now(), finishedAt: now(), reason: 'Completed' } },
    false,
  ),
});

/** Returns how long (ms) its containers take to end: as long as their hooks sleep, and at most their grace period. */
const endingTakes = ({ metadata, spec }: Pod): number => {
  const slowest = Math.max(0, ...spec.containers.map(({ lifecycle }) => lifecycle?.preStop?.sleep?.seconds ?? 0));
  return Math.min(slowest, metadata.deletionGracePeriodSeconds ?? 0) * 1000;
};

interface Held {
  readonly pod: Pod;
  readonly volumes: readonly string[];
  running: boolean;
  /** When its containers will have ended (mono ms). Null until they were asked to. */
  endsAt: number | null;
  ended: boolean;
}

/** A finished pod no longer uses its volumes: they are unmounted then. */
const holds = ({ ended }: Held): boolean => !ended;

const isOver = ({ status }: Pod): boolean => status.phase === 'Succeeded' || status.phase === 'Failed';

/**
 * The first call starts the end of its containers. Until they have ended, there is one more look, because timers may
 * fire a little early.
 */
const hasEnded = (entry: Held, pod: Pod, syncIn: (ms: number) => void): boolean => {
  if (entry.ended) return true;
  entry.endsAt ??= performance.now() + endingTakes(pod);
  const left = entry.endsAt - performance.now();
  if (left > 0) syncIn(Math.ceil(left));
  return left <= 0;
};

/** `syncIn` requests one more sync after this many ms. */
export const openPodWorker = (
  api: Api,
  { name: nodeName, address }: Machine,
  syncIn: (ms: number) => void,
): PodWorker => {
  const held = new Map<string, Held>();
  let reported: string | null = null;

  const reportVolumes = async (): Promise<void> => {
    const volumesInUse = [...new Set([...held.values()].filter(holds).flatMap(({ volumes }) => volumes))].sort();
    if (reported === volumesInUse.join()) return;
    await api.write('PATCH', `/api/v1/nodes/${nodeName}/status`, { status: { volumesInUse } }, MERGE);
    reported = volumesInUse.join();
  };
  const take = async (pod: Pod): Promise<void> => {
    if (!held.has(pod.metadata.uid))
      held.set(pod.metadata.uid, {
        pod,
        volumes: await volumesOf(api, pod),
        running: false,
        endsAt: null,
        ended: isOver(pod),
      });
  };
  const report = async (entry: Held, status: object): Promise<void> => {
    const { uid } = entry.pod.metadata;
    const answer = await api.call('PATCH', `${podPath(entry.pod)}/status`, { metadata: { uid }, status }, STRATEGIC);
    if (![200, 404, 409].includes(answer.status))
      throw new Error(
        `the status of ${entry.pod.metadata.name} returned ${answer.status} ${JSON.stringify(answer.body)}`,
      );
  };
  const start = async (entry: Held, attached: ReadonlySet<string>): Promise<void> => {
    if (entry.running || entry.ended || !entry.volumes.every((name) => attached.has(name))) return;
    await report(entry, runningStatus(entry.pod, address));
    entry.running = true;
  };
  const end = async (entry: Held, pod: Pod): Promise<void> => {
    if (!hasEnded(entry, pod, syncIn)) return;
    if (!entry.ended) await report(entry, endedStatus(entry.pod));
    entry.ended = true;
    await reportVolumes();
    const body = { gracePeriodSeconds: 0, preconditions: { uid: entry.pod.metadata.uid } };
    await api.call('DELETE', podPath(entry.pod), body);
  };
  return {
    sync: async (pods, node) => {
      const attached = new Set(node?.status.volumesAttached.map(({ name }) => name));
      const wanted = new Set(pods.map(({ metadata }) => metadata.uid));
      for (const uid of held.keys()) if (!wanted.has(uid)) held.delete(uid);
      for (const pod of pods) await take(pod);
      await reportVolumes();
      for (const pod of pods) {
        const entry = held.get(pod.metadata.uid);
        if (entry) await (pod.metadata.deletionTimestamp == null ? start(entry, attached) : end(entry, pod));
      }
    },
  };
};
