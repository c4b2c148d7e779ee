import type { Cause } from '../model/cause.ts';
import type { EventView, ObjectName } from '../model/facts.ts';
import type { MissingPodFacts } from '../model/without-pod.ts';
import { bindAgain, cause, firstLine, formatDuration, formatTime, keepDisk, nameOf } from './rule.ts';

/** Why a StatefulSet, a Deployment, or a Job does not create a pod. */

type MissingPodRule = (facts: MissingPodFacts) => Cause | null;

const workloadName = ({ workload }: MissingPodFacts): string => `${workload.kind} ${nameOf(workload)}`;

const podName = (facts: MissingPodFacts): string =>
  facts.missing === null ? `a pod of ${workloadName(facts)}` : `${facts.workload.namespace}/${facts.missing}`;

/** Keeps the StatefulSet from creating an empty claim before a person has created the right one. */
const notYet = ({ workload: { namespace, name, podNames }, missing }: MissingPodFacts): string =>
  `kubectl -n ${namespace} scale statefulset ${name} --replicas=${podNames.indexOf(missing ?? '')}      # until the ` +
  'claim has its volume again: else the StatefulSet creates a claim with an empty disk first';

/** A claim of that name is being deleted. Its successor is empty, because the disk goes with the claim. */
const claimGoes: MissingPodRule = (facts) => {
  const { claimGoing: claim, now } = facts;
  if (!claim) return null;
  const { volumeName } = claim;
  return cause('claim-going', 'proved', 'by-person', {
    says:
      `${workloadName(facts)} does not create ${podName(facts)}, because its claim ${claim.name} is being deleted. ` +
      'When the claim is gone, it creates a new claim, with an empty disk.',
    proof: [
      `its deletion was requested ${formatDuration(now - claim.since)} ago`,
      `finalizers: ${claim.finalizers.join(', ') || 'none'}`,
    ],
    waits: `${podName(facts)} ← claim ${nameOf(claim)} ← the controllers of its finalizers.`,
    next: [
      ...(volumeName === '' ? [] : [keepDisk(volumeName), notYet(facts)]),
      `find out why the claim is not deleted: cloudfence diagnose pvc/${nameOf(claim)}`,
      ...(volumeName === '' ? [] : [bindAgain(volumeName)]),
    ],
  });
};

const predecessorWaits: MissingPodRule = (facts) => {
  const { predecessor, now } = facts;
  if (!predecessor) return null;
  return cause('predecessor-not-ready', 'proved', 'by-itself', {
    says:
      `${workloadName(facts)} creates ${podName(facts)} only after ${predecessor.name} is ready. ` +
      `${predecessor.name} is not ready, ${formatDuration(now - predecessor.created)} after its creation.`,
    proof: ['its podManagementPolicy is OrderedReady', `${predecessor.name} is not ready`],
    waits: `${podName(facts)} ← StatefulSet controller ← ${nameOf(predecessor)}.`,
    next: [
      `cloudfence diagnose pod/${nameOf(predecessor)}      # its cause is the cause of this one, too`,
      'for good, if the pods do not depend on each other: podManagementPolicy: Parallel (needs a new StatefulSet)',
    ],
  });
};

interface RefusalText {
  readonly sign: RegExp;
  readonly next: (workload: ObjectName, captured: string) => readonly string[];
}

/**
 * The words of the admission plugins. Sources, kubernetes/kubernetes v1.36.3 unless named otherwise:
 * staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota (exceeded quota, must specify),
 * plugin/pkg/admission/limitranger, plugin/pkg/admission/serviceaccount, plugin/pkg/admission/priority,
 * staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook, plugin/namespace/lifecycle,
 * staging/src/k8s.io/pod-security-admission. The first sign counts.
 */
const texts: readonly RefusalText[] = [
  {
    sign: /exceeded quota: ([^,]+)|failed quota: ([^:]+)/,
    next: ({ namespace }, quota) => [
      `kubectl -n ${namespace} describe resourcequota ${quota}      # raise it, or delete objects that it counts`,
      `claims of pods that are gone still count: kubectl -n ${namespace} get pvc. Check the data before you delete one`,
    ],
  },
  {
    sign: /(?:maximum|minimum) \S+ usage per \S+ is/,
    next: ({ namespace }) => [
      `kubectl -n ${namespace} describe limitrange      # change it, or the size that the claim or the pod asks for`,
    ],
  },
  {
    sign: /failed calling webhook "([^"]+)"/,
    next: (_, webhook) => [
      `the admission webhook ${webhook} does not answer: repair its pods. They may wait on the same dead Node`,
      'kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations      # its service and failurePolicy',
    ],
  },
  {
    sign: /admission webhook "([^"]+)" denied the request|ValidatingAdmissionPolicy '([^']+)'/,
    next: (_, policy) => [`${policy} refuses it on purpose: fix what the message names in the workload, or the policy`],
  },
  {
    sign: /violates PodSecurity "([^"]+)"/,
    next: ({ namespace }, level) => [
      `the namespace enforces ${level}: fix the securityContext, or kubectl get namespace ${namespace} --show-labels`,
    ],
  },
  {
    sign: /serviceaccount "([^"]+)" not found/,
    next: ({ namespace }, account) => [`kubectl -n ${namespace} create serviceaccount ${account}`],
  },
  {
    sign: /no PriorityClass with name (\S+) was found/,
    next: (_, name) => [`make the PriorityClass ${name}, or remove priorityClassName from the workload`],
  },
  {
    sign: /because it is being terminated/,
    next: ({ namespace }) => [
      `kubectl get namespace ${namespace} -o yaml      # somebody deletes the namespace, and its claims with it`,
      'if the data has to stay: set the reclaim policy of its PersistentVolumes to Retain now',
    ],
  },
];

const remedyOf = (says: string, workload: ObjectName): readonly string[] => {
  const known = texts.find(({ sign }) => sign.test(says));
  if (!known) return ['fix what the message names'];
  return known.next(
    workload,
    known.sign
      .exec(says)
      ?.slice(1)
      .find((one) => one !== undefined) ?? '',
  );
};

/** The part of the event that the API server wrote. */
const reasonIn = ({ says }: EventView): string => says.replace(/^.*? failed error: |^Error creating: /, '');

const refused: MissingPodRule = (facts) => {
  const { refused: event, workload } = facts;
  if (!event) return null;
  return cause('pod-refused', 'proved', 'by-person', {
    says: `Kubernetes cannot create ${podName(facts)}: ${firstLine(reasonIn(event))}`,
    proof: [`${workloadName(facts)} tried at ${formatTime(event.at)}`],
    waits: `${podName(facts)} ← ${workload.kind} controller ← the API server, which refuses it.`,
    next: [...remedyOf(event.says, workload), 'the controller tries again by itself, within about 17 minutes'],
  });
};

const questions: readonly MissingPodRule[] = [claimGoes, refused, predecessorWaits];

/** Returns the one cause, or null if nothing shows it. Pure. */
export const causeOfMissingPod = (facts: MissingPodFacts): Cause | null => {
  for (const ask of questions) {
    const found = ask(facts);
    if (found) return found;
  }
  return null;
};
