import type { TreeLine } from './answer.ts';
import { ifFound, type PodView, type PvcView } from './model/facts.ts';
import type { MissingPodFacts, ShortWorkloadView } from './model/without-pod.ts';
import type { DiagnosisReading } from './ports.ts';
import { formatDuration, formatTime, nameOf } from './rules/rule.ts';

/** Pods that do not exist, although a StatefulSet, a Deployment, or a Job should have created them. */

/** A pod that began so recently (ms) is on its way. */
const PATIENCE_MS = 60_000;

/** A StatefulSet creates or replaces the first pod that is missing or not ready, and no later one. */
const firstUnready = (names: readonly string[], pods: readonly PodView[]): PodView | null | undefined => {
  for (const name of names) {
    const pod = pods.find((one) => one.name === name);
    if (!pod) return null;
    if (!pod.ready || pod.deletionEnds !== null || pod.finished) return pod;
  }
  return undefined;
};

/** Returns the claim that the pod needs and that somebody has asked to delete. Kubernetes waits until it is gone. */
const claimGoing = async (
  pod: string,
  { namespace, claimTemplates }: ShortWorkloadView,
  reading: DiagnosisReading,
): Promise<PvcView | null> => {
  const claims = await Promise.all(claimTemplates.map((name) => reading.claim({ namespace, name: `${name}-${pod}` })));
  return claims.map((claim) => ifFound(claim)).find((claim) => claim?.deleting) ?? null;
};

/** The reason in Events of the three controllers (pkg/controller/statefulset, pkg/controller/controller_utils.go). */
const FAILED = 'FailedCreate';

/** Returns null if no pod is missing. */
const ofStatefulSet = async (
  workload: ShortWorkloadView,
  reading: DiagnosisReading,
  now: number,
): Promise<MissingPodFacts | null> => {
  const { namespace, podNames, ordered, uid } = workload;
  const pods = await reading.podsIn(namespace);
  const missing = podNames.find((name) => !pods.some((pod) => pod.name === name));
  if (missing === undefined) return null;
  const predecessor = (ordered && firstUnready(podNames, pods)) || null;
  const events = await reading.events(namespace, uid);
  return {
    workload,
    missing,
    predecessor,
    claimGoing: await claimGoing(missing, workload, reading),
    refused: events.find(({ reason, says }) => reason === FAILED && says.includes(` Pod ${missing} `)) ?? null,
    now,
  };
};

const ofOther = async (
  workload: ShortWorkloadView,
  reading: DiagnosisReading,
  now: number,
): Promise<MissingPodFacts> => {
  const events = workload.kind === 'Job' ? await reading.events(workload.namespace, workload.uid) : [];
  const refused = workload.refused ?? events.find(({ reason }) => reason === FAILED) ?? null;
  return { workload, missing: null, predecessor: null, claimGoing: null, refused, now };
};

/** Returns whether something keeps the pod away. A pod that was begun just now may still follow by itself. */
const isStuck = ({ predecessor, claimGoing: going, refused, now }: MissingPodFacts): boolean =>
  going !== null || refused !== null || (predecessor !== null && now - predecessor.created > PATIENCE_MS);

/** Returns the pods that are missing, one for each workload. */
export const gatherMissingPods = async (
  reading: DiagnosisReading,
  now: number,
): Promise<readonly MissingPodFacts[]> => {
  const found = await Promise.all(
    (await reading.shortWorkloads()).map((workload) =>
      workload.kind === 'StatefulSet' ? ofStatefulSet(workload, reading, now) : ofOther(workload, reading, now),
    ),
  );
  return found.filter((one) => one !== null).filter(isStuck);
};

/** Returns the facts as a tree: workload, the pod before, the pod, its claim. */
export const missingPodTree = (facts: MissingPodFacts): readonly TreeLine[] => {
  const { workload, missing, predecessor, claimGoing: going, refused, now } = facts;
  const before = predecessor && {
    depth: 1,
    what: `pod ${nameOf(predecessor)}`,
    says: `not ready, created ${formatDuration(now - predecessor.created)} ago`,
  };
  const why = refused ? `, refused at ${formatTime(refused.at)}` : '';
  return [
    { depth: 0, what: `${workload.kind} ${nameOf(workload)}`, says: 'has fewer pods than it should have' },
    ...(before ? [before] : []),
    { depth: 1, what: missing === null ? 'pod' : `pod ${workload.namespace}/${missing}`, says: `does not exist${why}` },
    ...(going
      ? [
          {
            depth: 2,
            what: `claim ${nameOf(going)}`,
            says: `${going.phase}, deletion requested ${formatDuration(now - going.since)} ago`,
          },
        ]
      : []),
  ];
};
