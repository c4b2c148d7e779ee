import type { CloudIdentityRules } from '../fencing/model/cloud.ts';
import { hasOwnLabelOrTaint, type ClusterFacts, type NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { MachineFacts } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { listSome } from '../fencing/model/reason.ts';
import { mayBegin } from '../fencing/rules/guards.ts';
import { proveIdentity } from '../fencing/rules/identity.ts';
import type { DrilledMachine, DrilledNode } from './ports.ts';

/** Whether a machine may be stopped for a drill. Pure. */

/** Why a drill does not stop the machine, with the remedy. */
export interface Refusal {
  readonly says: string;
  readonly remedy: string;
}

/** Everything that is known about the machine at one moment. */
export interface DrillFacts {
  readonly nodeName: string;
  readonly clusterName: string;
  readonly machine: MachineFacts;
  readonly drilledMachine: DrilledMachine;
  readonly cluster: ClusterFacts;
  readonly drilledNode: DrilledNode;
  /** Names of all Nodes that name the machine, with their clusters. */
  readonly named: readonly string[];
  readonly identityRules: CloudIdentityRules;
  /** The key of the canary's own volume, or null while there is none. */
  readonly ownVolume: string | null;
}

export interface CheckOptions {
  readonly policy: Policy;
  readonly allowCommand: string;
  readonly removeCommand: string;
  readonly freeCommand: string;
  /** The drill that must hold the reservation, or null before there is one. */
  readonly reservation: string | null;
  /** The group that a person has suspended, or null. */
  readonly suspendedGroup: string | null;
  readonly storageClass: string | null;
}

type Check = (facts: DrillFacts, options: CheckOptions) => Refusal | readonly Refusal[] | null;

const refusal = (says: string, remedy: string): Refusal => ({ says, remedy });

const notAllowed: Check = ({ drilledNode, nodeName }, { allowCommand }) =>
  drilledNode.allowed
    ? null
    : refusal(
        `Node ${nodeName} is not labelled for drills`,
        `choose a Node that you can spare, then \`${allowCommand}\``,
      );

const identity: Check = ({ cluster: { node }, machine, identityRules, named, nodeName }) => {
  if (named.length !== 1)
    return refusal(
      named.length === 0
        ? `no Node names ${machine.machine}`
        : `more than one Node names ${machine.machine}, or does not say yet which machine it is: ${listSome(named)}`,
      'run `cloudfence doctor` for the remedy',
    );
  if (!node)
    return refusal(`Node ${nodeName} does not name ${machine.machine}`, 'run `cloudfence doctor` for the remedy');
  const proof = proveIdentity(node, machine, identityRules);
  return proof === 'proven'
    ? null
    : refusal(
        `it is not proven that ${machine.machine} is the machine of Node ${nodeName} (${proof})`,
        'run `cloudfence doctor` for the remedy',
      );
};

/**
 * A kubelet writes what its Node says about the machine. A drill stops a running machine, so the cloud must confirm
 * that the machine belongs to this Node or this cluster.
 */
const unconfirmed: Check = ({ machine: { machine, clusters }, drilledMachine: { nodeNames }, nodeName, clusterName }) =>
  nodeNames.includes(nodeName) || clusters.includes(clusterName)
    ? null
    : refusal(
        `the cloud does not confirm that ${machine} is Node ${nodeName} of cluster ${clusterName}: by its ` +
          `names, it would be Node ${listSome(nodeNames) || '(none)'}, and ` +
          (clusters.length === 0 ? 'it has no tag of a cluster' : `its tags name ${listSome(clusters)}`),
        `check that it is the machine of the Node, and give it the tag of cluster ${clusterName} (docs/drill.md)`,
      );

const notRunning: Check = ({ machine: { power, machine, evidence } }) =>
  power === 'running'
    ? null
    : refusal(`the cloud does not say that ${machine} runs, but ${evidence['state'] ?? power}`, 'start it first');

type Doubt = readonly [holds: boolean, says: string, remedy: string];

const doubtsAboutNode = (node: NodeFacts, { barred, hostname }: DrilledNode): readonly Doubt[] => [
  [node.ready !== 'True', 'is not Ready', `\`kubectl describe node ${node.name}\` says why`],
  [node.deleting, 'is being deleted', 'choose another Node'],
  [node.controlPlane, 'belongs to the control plane', 'choose a worker'],
  [
    node.owners.includes('NodeClaim'),
    'belongs to Karpenter, which may replace it',
    'choose a Node that Karpenter does not manage',
  ],
  [hasOwnLabelOrTaint(node), 'is fenced', 'wait for its release: `cloudfence status`'],
  [
    node.taints.outOfService && !hasOwnLabelOrTaint(node),
    "has an out-of-service taint that is not Cloudfence's",
    `\`${node.untaint}\` removes it`,
  ],
  [barred.length > 0, `takes no new pods: ${listSome(barred)}`, 'uncordon the Node, or remove the taints'],
  [hostname === null, 'has no label kubernetes.io/hostname', 'choose another Node'],
];

const badNode: Check = ({ cluster: { node }, drilledNode, nodeName }) =>
  (node ? doubtsAboutNode(node, drilledNode) : [])
    .filter(([holds]) => holds)
    .map(([, says, remedy]) => refusal(`Node ${nodeName} ${says}`, remedy));

const otherVolumes: Check = ({ drilledNode, nodeName, cluster: { volumes }, ownVolume }) => {
  const users = drilledNode.pods.filter(({ disks }) => disks.length > 0);
  const remedy = `move it away first (\`kubectl drain ${nodeName}\`, and afterwards \`kubectl uncordon ${nodeName}\`)`;
  const reported = volumes.filter(
    ({ key, attachment, reported: onStatus }) => (onStatus || attachment !== null) && key !== ownVolume,
  );
  return [
    ...users.map(({ name, disks }) => refusal(`pod ${name} on Node ${nodeName} uses ${listSome(disks)}`, remedy)),
    ...(drilledNode.attachments.length > 0
      ? [refusal(`other volumes are attached to Node ${nodeName}: ${listSome(drilledNode.attachments)}`, remedy)]
      : []),
    ...(drilledNode.attachments.length === 0 && users.length === 0 && reported.length > 0
      ? [
          refusal(
            `the status of Node ${nodeName} reports other volumes: ${listSome(reported.map(({ key }) => key))}`,
            'wait until it does not',
          ),
        ]
      : []),
  ];
};

/** Pods that were created after the drilledNode was read. Only the facts of fencing contain their volumes. */
const volumesOfPods: Check = ({ cluster: { pods }, drilledNode, nodeName, ownVolume }) => {
  const known = new Set(drilledNode.pods.filter(({ disks }) => disks.length > 0).map(({ name }) => name));
  return pods
    .filter(({ namespace, name, finished }) => !finished && !known.has(`${namespace}/${name}`))
    .flatMap(({ namespace, name, volumes, unresolved }) => {
      const others = [...volumes.filter((key) => key !== ownVolume), ...unresolved];
      return others.length === 0
        ? []
        : [refusal(`pod ${namespace}/${name} on Node ${nodeName} uses ${listSome(others)}`, 'move it away first')];
    });
};

const barePods: Check = ({ drilledNode, nodeName }) => {
  const bare = drilledNode.pods.filter((pod) => pod.bare);
  return bare.length === 0
    ? null
    : refusal(
        `no controller would create ${listSome(bare.map(({ name }) => name))} again, which Cloudfence would ` +
          `delete on Node ${nodeName}`,
        'move or delete it first',
      );
};

const nowhereToGo: Check = ({ drilledNode, nodeName }) =>
  drilledNode.spares.length > 0
    ? null
    : refusal(
        `no other Node in the zone of Node ${nodeName} takes new pods, so the volume could not move`,
        'add a Node to the zone',
      );

/** The rules of fencing show whether a fence would begin, so a drill respects all guards. */
const nothingWouldHappen: Check = ({ machine, cluster }, { policy }) => {
  const paused = policy.paused ?? cluster.surroundings.paused;
  const forbidden = mayBegin({ machine, cluster, policy });
  return [
    ...(paused === null
      ? []
      : [refusal(`Cloudfence is paused, so nothing would happen: ${paused}`, 'end the pause first')]),
    ...(policy.shadow
      ? [refusal('Cloudfence runs in shadow mode, so nothing would happen', 'set `shadow: false` first')]
      : []),
    ...(forbidden
      ? [
          refusal(
            `no fence would begin (${forbidden.because.code}): ${forbidden.because.says}`,
            'end this, or choose another Node',
          ),
        ]
      : []),
  ];
};

/** The cap must also admit the fence of the drill, unless a person has overridden the cap. */
const noRoomUnderCap: Check = ({ drilledNode: { cap } }) => {
  if (!cap)
    return refusal(
      'the cluster has no ledger of fences, so nothing would happen',
      'apply `infra/kubernetes/rbac.yaml`',
    );
  const isFull = cap.begun >= cap.limits.begun || cap.unfinished >= cap.limits.unfinished;
  return isFull && !cap.isOverridden
    ? refusal(
        `the cap is reached, so nothing would happen: ${cap.begun} of at most ${cap.limits.begun} fences ` +
          `within 15 minutes, ${cap.unfinished} of at most ${cap.limits.unfinished} unfinished`,
        'wait until `cloudfence cap` shows room',
      )
    : null;
};

const hazards: Check = ({ drilledMachine }, { suspendedGroup }) =>
  drilledMachine.hazards
    .filter(({ group }) => group === null || group !== suspendedGroup)
    .map(({ says, remedy }) => ({ says, remedy }));

const storage: Check = ({ drilledNode }, { storageClass }) =>
  drilledNode.storageClass
    ? null
    : storageClass === null
      ? refusal('the cluster has no default StorageClass', 'name one with --storage-class')
      : refusal(`there is no StorageClass ${storageClass}`, '`kubectl get storageclass` lists them');

const reserved: Check = ({ drilledNode: { reservedBy }, nodeName }, { reservation, freeCommand }) => {
  if (reservedBy === reservation) return null;
  return reservedBy === null
    ? refusal(`the reservation of Node ${nodeName} for this drill is gone`, 'begin the drill again')
    : refusal(
        `another drill (${reservedBy}) has reserved Node ${nodeName}`,
        `wait for its end. If it died, \`${freeCommand}\` ends its reservation`,
      );
};

const leftovers: Check = ({ drilledNode }, { removeCommand }) =>
  drilledNode.leftovers.length === 0
    ? null
    : refusal(`another drill runs, or has left ${listSome(drilledNode.leftovers)}`, `\`${removeCommand}\` removes it`);

const checks: readonly Check[] = [
  notAllowed,
  identity,
  unconfirmed,
  notRunning,
  badNode,
  otherVolumes,
  volumesOfPods,
  barePods,
  nowhereToGo,
  nothingWouldHappen,
  noRoomUnderCap,
  hazards,
  storage,
  reserved,
  leftovers,
];

/** Returns all reasons why the machine must not be stopped. Empty if it may be stopped. */
export const refusalsOf = (facts: DrillFacts, options: CheckOptions): readonly Refusal[] =>
  checks.flatMap((check) => check(facts, options) ?? []);
