import { CloudfenceError, InvalidInput, Unavailable } from '../fencing/model/errors.ts';
import { type Answer, type Finding, causeTree } from './answer.ts';
import { createCloudMemory, type CloudMemory } from './cloud-memory.ts';
import { gatherFacts } from './gather.ts';
import type { Cause, CauseKind } from './model/cause.ts';
import {
  ifFound,
  type PodVolumeFacts,
  type ObjectName,
  type PodView,
  type ReadResult,
  type VolumeView,
} from './model/facts.ts';
import type { DiagnosisReading, DiagnosedCluster, DiagnosisPorts } from './ports.ts';
import { gatherMissingPods, missingPodTree } from './missing-pods.ts';
import { causeOf } from './rules/cause-of.ts';
import { causeOfMissingPod } from './rules/missing-pods.ts';
import { nameOf } from './rules/rule.ts';
import { causeOfStuckDetach } from './rules/stuck-detach.ts';
import { causeWithoutPod } from './rules/unused-storage.ts';
import { detachTree, gatherStuckDetaches } from './stuck-detaches.ts';
import { quoted, TARGET_FORMS, targetInWords, unanswered, type Target } from './target.ts';
import { gatherUnused, storageTree } from './unused-storage.ts';

/** Finds out in every cluster why pods wait for their volumes. Only reads. */

interface Asked {
  readonly cluster: DiagnosedCluster;
  readonly reading: DiagnosisReading;
  /** Null if the cluster does not have the object that the person named. */
  readonly pods: readonly PodView[] | null;
}

const usersOf = async (name: ObjectName | null, reading: DiagnosisReading): Promise<readonly PodView[] | null> => {
  if (name === null || (await reading.claim(name)) === null) return null;
  const named = (await reading.podsIn(name.namespace)).filter(({ claims }) => claims.includes(name.name));
  const users = named.filter(({ finished }) => !finished);
  const waiting = users.filter(({ runs, deletionEnds }) => !runs || deletionEnds !== null);
  return waiting.length > 0 ? waiting : users;
};

/** Null if the volume does not exist. A volume without a claim, or whose claim is gone, has no users. */
const usersOfVolume = async (
  volume: ReadResult<VolumeView>,
  reading: DiagnosisReading,
): Promise<readonly PodView[] | null> =>
  volume === null ? null : ((await usersOf(ifFound(volume)?.claim ?? null, reading)) ?? []);

const usersOfVolumes = async (
  volumes: readonly VolumeView[] | 'unread',
  reading: DiagnosisReading,
): Promise<readonly PodView[] | null> => {
  if (volumes === 'unread') return [];
  const users = (await Promise.all(volumes.map((volume) => usersOfVolume(volume, reading)))).flatMap(
    (pods) => pods ?? [],
  );
  return volumes.length === 0 ? null : [...new Map(users.map((pod) => [pod.uid, pod])).values()];
};

/** Returns the pods of a target, or null if the object does not exist. */
const podsOf = async (target: Target, reading: DiagnosisReading, ports: DiagnosisPorts): Promise<Asked['pods']> => {
  const { diskOf } = ports.cloud.rules;
  switch (target.kind) {
    case 'everything':
      return reading.stuckPods();
    case 'pod': {
      const pod = await reading.pod(target);
      return pod === null ? null : [ifFound(pod)].filter((one) => one !== null);
    }
    case 'claim':
      return usersOf(target, reading);
    case 'volume':
      return usersOfVolume(await reading.volume(target.name), reading);
    case 'node':
      return (await reading.node(target.name)) === null && !(await hasAttachments(target.name, reading))
        ? null
        : reading.stuckPods();
    case 'disk':
      return usersOfVolumes(
        await reading.volumesOn((one) => one.handle === target.id || diskOf(one) === target.id),
        reading,
      );
  }
};

const hasAttachments = async (node: string, reading: DiagnosisReading): Promise<boolean> => {
  const all = await reading.attachments();
  return all !== 'unread' && all.some((attachment) => attachment.node === node);
};

const isAbout = (target: Target, { pod, holders }: PodVolumeFacts): boolean =>
  target.kind !== 'node' || pod.node === target.name || holders.some(({ nodeName }) => nodeName === target.name);

/** A kubelet mounts no volume that is not attached, so these say little while another volume of the pod waits. */
const AFTER_ALL_OTHERS: readonly CauseKind[] = ['kubelet-stuck', 'unknown'];

/** These stay true whatever happens to the other volumes of the pod. */
const BEFORE_ALL_OTHERS: readonly CauseKind[] = ['not-the-volume', 'local-volume'];

/** Sorts the causes of a pod by usefulness: proved causes first, and causes that need a person first. */
const rankOf = ({ confidence, ending, kind }: Cause): number => {
  if (AFTER_ALL_OTHERS.includes(kind)) return 9 + AFTER_ALL_OTHERS.indexOf(kind);
  if (BEFORE_ALL_OTHERS.includes(kind)) return 0;
  return { proved: 1, likely: 2, 'cannot-tell': 3 }[confidence] + (ending === 'by-itself' || ending === 'over' ? 3 : 0);
};

type Judged = Omit<Finding, 'rehearsal'>;

interface JudgedPod {
  readonly facts: PodVolumeFacts;
  readonly cause: Cause;
}

const oneEach = (found: readonly JudgedPod[]): readonly JudgedPod[] =>
  [...Map.groupBy(found, ({ facts }) => facts.pod.uid).values()].flatMap((ofPod) =>
    ofPod.toSorted((one, other) => rankOf(one.cause) - rankOf(other.cause)).slice(0, 1),
  );

/** Without a target, only pods that wait are shown. */
const isShown = (target: Target, { ending }: Cause): boolean => target.kind !== 'everything' || ending !== 'over';

interface Sources {
  readonly ports: DiagnosisPorts;
  readonly clouds: CloudMemory;
  readonly now: number;
}

const diagnosePods = async (
  { cluster, reading, pods }: Asked,
  target: Target,
  { ports, clouds, now }: Sources,
): Promise<readonly Judged[]> => {
  const { signal } = ports;
  const { rules } = ports.cloud;
  const all = await gatherFacts(pods ?? [], { cluster, reading, rules, clouds, signal });
  const found = all
    .filter((facts) => isAbout(target, facts))
    .map((facts) => ({ facts, cause: causeOf({ ...facts, now }) }));
  return oneEach(found.filter(({ cause }) => isShown(target, cause))).map(({ facts, cause }) => ({
    cluster: facts.cluster,
    pod: nameOf(facts.pod),
    claim: facts.claimName,
    tree: causeTree({ ...facts, now }),
    cause,
  }));
};

const diagnoseStorage = async (
  { cluster, reading, pods }: Asked,
  target: Target,
  { ports, now }: Sources,
): Promise<readonly Judged[]> => {
  const all = await gatherUnused(target, pods ?? [], { reading, ports, now });
  return all
    .map((facts) => ({
      cluster: cluster.cluster.name,
      pod: null,
      claim: facts.claim && nameOf(facts.claim),
      tree: storageTree(facts),
      cause: causeWithoutPod(facts),
    }))
    .filter(({ cause }) => isShown(target, cause));
};

/** The attachments to the Node of the target that do not go, and for which no pod waits. */
const diagnoseDetaches = async (
  { cluster, reading, pods }: Asked,
  target: Target,
  { ports, clouds, now }: Sources,
): Promise<readonly Judged[]> => {
  if (target.kind !== 'node' || pods === null) return [];
  const all = await gatherStuckDetaches(target.name, pods, { reading, ports, clouds, now });
  return all.map((facts) => ({
    cluster: cluster.cluster.name,
    pod: null,
    claim: null,
    tree: detachTree(facts),
    cause: causeOfStuckDetach(facts),
  }));
};

/** The pods that a workload should have created, but has not. */
const diagnoseMissing = async (
  { cluster, reading }: Asked,
  target: Target,
  { now }: Sources,
): Promise<readonly Judged[]> => {
  if (target.kind !== 'everything') return [];
  return (await gatherMissingPods(reading, now)).flatMap((facts) => {
    const cause = causeOfMissingPod(facts);
    const tree = missingPodTree(facts);
    return cause ? [{ cluster: cluster.cluster.name, pod: null, claim: null, tree, cause }] : [];
  });
};

/**
 * If Cloudfence would refuse the fence, for example because of an opt-out, the wait does not end before a person has
 * acted.
 */
const rehearsed = (one: Judged, rehearsal: Finding['rehearsal']): Finding => ({
  ...one,
  cause:
    one.cause.ending === 'by-fence' && rehearsal?.outcome === 'refused'
      ? { ...one.cause, ending: 'by-person' }
      : one.cause,
  rehearsal,
});

/** Runs a dry run of the fence once for each machine. */
const withRehearsals = async (found: readonly Judged[], { rehearse }: DiagnosisPorts): Promise<readonly Finding[]> => {
  const machines = new Set(found.flatMap(({ cause }) => cause.machine ?? []));
  const outcomes = new Map(
    await Promise.all([...machines].map(async (machine) => [machine, await rehearse(machine)] as const)),
  );
  return found.map((one) => rehearsed(one, (one.cause.machine !== null && outcomes.get(one.cause.machine)) || null));
};

const inWords = (target: Target): string => (target.kind === 'everything' ? 'everything' : targetInWords(target));

const nowhere = (target: Target, clusters: string): string => {
  if (target.kind === 'disk')
    return `${quoted(target.id)} is not the id of a volume in ${clusters}: a target is ${TARGET_FORMS}`;
  const missing = `there is no ${inWords(target)} in ${clusters}`;
  return target.kind === 'pod'
    ? `${missing}. If it was never created, \`cloudfence diagnose\` without a target says why`
    : missing;
};

/**
 * Searches one cluster for the target. If the cluster does not answer, returns the error, because the other clusters
 * may answer.
 */
const ask = async (
  cluster: DiagnosedCluster,
  target: Target,
  ports: DiagnosisPorts,
): Promise<Asked | CloudfenceError> => {
  try {
    return await ports.inTime(async () => {
      const reading = await cluster.read(ports.signal);
      return { cluster, reading, pods: await podsOf(target, reading, ports) };
    });
  } catch (error) {
    if (error instanceof Unavailable) return unanswered(cluster.cluster.name, error);
    if (error instanceof CloudfenceError) return error;
    throw error;
  }
};

/**
 * Returns why the pods of the target wait. Without a target, looks at every pod that waits for a volume.
 * @throws InvalidInput if no cluster has the target
 */
export const diagnose = async (target: Target, ports: DiagnosisPorts): Promise<Answer> => {
  const clouds = createCloudMemory(ports);
  const answers = await Promise.all(ports.clusters.map((cluster) => ask(cluster, target, ports)));
  const asked = answers.flatMap((answer) => (answer instanceof CloudfenceError ? [] : [answer]));
  const silent = answers.filter((answer) => answer instanceof CloudfenceError);
  if (asked.length === 0 && silent[0]) throw silent[0];
  const unread = () => [
    ...silent.map(({ message }) => message),
    ...asked.flatMap(({ reading }) => reading.unread()),
    ...clouds.unread(),
  ];
  if (asked.every(({ pods }) => pods === null) && unread().length === 0)
    throw new InvalidInput(nowhere(target, ports.clusters.map(({ cluster }) => cluster.name).join(', ')));
  const now = ports.now();
  const sources = { ports, clouds, now };
  const found = await Promise.all(
    asked.flatMap((one) => [
      diagnosePods(one, target, sources),
      diagnoseStorage(one, target, sources),
      diagnoseDetaches(one, target, sources),
      diagnoseMissing(one, target, sources),
    ]),
  );
  return { findings: await withRehearsals(found.flat(), ports), unread: unread() };
};
