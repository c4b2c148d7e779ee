import {
  FENCED_LABEL,
  OPT_OUT_LABEL,
  OUT_OF_SERVICE,
  QUARANTINE,
  RECORD_ANNOTATION,
  SEAL_LABEL,
  TAINT_LABEL,
} from '../../kubernetes/names.ts';
import type { Scenario } from './explore.ts';
import { BY_HAND, isOutOfService, isQuarantined, isTaintedByUs, labelOn } from './on-node.ts';
import {
  type Budget,
  detached,
  FOREIGN,
  isGone,
  isUp,
  type NodeState,
  renewedIfNeeded,
  shownBy,
  withMachine,
  withNode,
  withReadiness,
  type World,
} from './world.ts';

/**
 * Everybody except Cloudfence: the machine, its kubelet, the controllers of Kubernetes, and people. Each may act at any
 * moment at which its condition holds.
 */

export interface Event {
  /** A sentence about what happens. */
  readonly says: string;
  /** Who causes it. Undefined if it happens by itself. */
  readonly needs?: 'somebody' | 'a cloud controller';
  /** Returns the world after the event, or null if it cannot happen now. */
  readonly happens: (world: World, scenario: Pick<Scenario, 'assumption' | 'cloud'>) => World | null;
}

/** Uses up one of the events that may still happen. Null if none is left. */
export const spend = (world: World, what: keyof Budget): World | null =>
  world.budget[what] > 0 ? { ...world, budget: { ...world.budget, [what]: world.budget[what] - 1 } } : null;

/** Returns the world in which the machine starts. For a moment, the cloud may still give its old answer. */
const started = (before: World, after: World, change: Partial<World['machine']>): World => ({
  ...withMachine(after, { power: 'starting', started: 0, ...change }),
  wasOff: 0,
  shownOff: shownBy(before),
  swept: false,
  offSinceMark: before.offSinceMark === null ? null : false,
});

const machine: readonly Event[] = [
  {
    says: 'somebody stops the machine',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'running' ? spend(world, 'stops') : null;
      return after && withMachine(after, { power: 'stopping', byGuest: false, hibernates: false });
    },
  },
  {
    says: 'somebody hibernates the machine',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'running' ? spend(world, 'hibernations') : null;
      return after && withMachine(after, { power: 'stopping', byGuest: false, hibernates: true });
    },
  },
  {
    says: 'the guest shuts itself down',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'running' ? spend(world, 'shutdowns') : null;
      return after && withMachine(after, { power: 'stopping', byGuest: true, hibernates: false });
    },
  },
  {
    says: 'the machine is off',
    happens: (world) => {
      if (world.machine.power !== 'stopping') return null;
      // A guest whose memory is kept continues to write as soon as the machine resumes.
      return withMachine(
        world,
        world.machine.hibernates ? { power: 'off' } : { power: 'off', mounts: false, writes: false },
      );
    },
  },
  {
    says: 'somebody starts the machine',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'off' ? spend(world, 'starts') : null;
      const { boot, kernel, hibernates } = world.machine;
      return (
        after && started(world, after, { boot: boot + 1, kernel: hibernates ? kernel : kernel + 1, hibernates: false })
      );
    },
  },
  {
    says: 'somebody creates a machine of the same name',
    needs: 'somebody',
    happens: (world) => {
      const after = isGone(world) && world.disk !== 'here' ? spend(world, 'recreations') : null;
      const { incarnation, boot, kernel } = world.machine;
      const anew = { incarnation: incarnation + 1, boot: boot + 1, kernel: kernel + 1, byGuest: false, detaches: 0 };
      return after && started(world, after, anew);
    },
  },
  {
    says: 'the guest has booted',
    happens: (world) => (world.machine.power === 'starting' ? withMachine(world, { power: 'running' }) : null),
  },
  {
    says: 'somebody terminates the machine',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'off' ? spend(world, 'terminations') : null;
      return after && withMachine(after, { power: 'gone' });
    },
  },
  {
    says: 'the cloud frees the disk of the terminated machine',
    happens: (world) => (isGone(world) && world.disk === 'here' ? { ...world, disk: 'free' } : null),
  },
  {
    says: 'the cloud forgets the machine',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'gone' ? spend(world, 'forgets') : null;
      return after && withMachine(after, { power: 'forgotten' });
    },
  },
];

const hasPosted = ({ node, machine: { kernel } }: World): boolean => node?.boot === kernel;

/** Returns whether the kubelet has anything to post, and reaches the API server. */
const postsAnything = (world: World): boolean =>
  world.machine.power === 'running' &&
  world.connected &&
  world.node !== null &&
  !(hasPosted(world) && world.node.ready);

/** Returns whether the kubelet has a pod to end, or its disk to unmount. */
const isLeftToEnd = ({ pod, machine: { mounts }, inUse }: World): boolean =>
  pod === 'deleting' || (pod === 'gone' && (mounts || inUse));

const freshNode = ({ nodes, machine: { kernel, incarnation } }: World): NodeState => ({
  uid: `node-${nodes + 1}`,
  boot: kernel,
  incarnation,
  ready: true,
  labels: FOREIGN,
  annotations: FOREIGN,
  taints: [],
});

const kubelet: readonly Event[] = [
  {
    says: 'the kubelet posts its boot and is Ready',
    happens: (world, { assumption: { bootToPost } }) =>
      postsAnything(world) && world.machine.started >= bootToPost
        ? renewedIfNeeded(
            withReadiness(
              withNode(world, { boot: world.machine.kernel, incarnation: world.machine.incarnation }),
              true,
            ),
          )
        : null,
  },
  {
    says: 'the kubelet registers its Node',
    happens: (world, { assumption: { bootToPost } }) =>
      world.node === null && world.machine.power === 'running' && world.connected && world.machine.started >= bootToPost
        ? { ...world, node: freshNode(world), nodes: world.nodes + 1, lease: { renewal: 0, age: 0 } }
        : null,
  },
  {
    says: 'the kubelet renews its Lease',
    needs: 'somebody',
    happens: (world) => {
      const after = isUp(world) && world.connected && world.lease.age > 0 ? spend(world, 'renewals') : null;
      return after && { ...after, lease: { renewal: world.lease.renewal + 1, age: 0 } };
    },
  },
  {
    says: 'the kubelet finds its pod and the disk attached, and begins to mount',
    happens: (world, { assumption: { bootToMount, postsBootFirst } }) => {
      const { power, mounts, started } = world.machine;
      const begins = power === 'running' && world.connected && !mounts && started >= bootToMount;
      return begins && world.pod === 'bound' && world.attachment === 'attached' && (hasPosted(world) || !postsBootFirst)
        ? withMachine(world, { mounts: true })
        : null;
    },
  },
  {
    says: 'the disk is mounted, and the database writes',
    happens: (world) =>
      world.machine.power === 'running' && world.machine.mounts && !world.machine.writes && world.disk === 'here'
        ? { ...withMachine(world, { writes: true }), inUse: true }
        : null,
  },
  {
    says: 'the kubelet ends the pod and unmounts the disk',
    happens: (world) =>
      world.machine.power === 'running' && world.connected && hasPosted(world) && isLeftToEnd(world)
        ? { ...withMachine(world, { writes: false, mounts: false }), pod: 'gone', inUse: false }
        : null,
  },
  {
    says: 'the kubelet ends the other pod',
    happens: (world) =>
      world.machine.power === 'running' && world.connected && hasPosted(world) && world.neighbor === 'deleting'
        ? { ...world, neighbor: 'gone' }
        : null,
  },
  {
    says: 'the kubelet is cut off from the API server',
    needs: 'somebody',
    happens: (world) => {
      const after = world.connected && isUp(world) ? spend(world, 'cuts') : null;
      return after && { ...after, connected: false };
    },
  },
  {
    says: 'the kubelet reaches the API server again',
    happens: (world) => (world.connected ? null : renewedIfNeeded({ ...world, connected: true })),
  },
];

/**
 * Kubernetes evicts pods 300 s after a Node became NotReady. That is longer than the interval between two sweeps, so a
 * sweep has seen a machine that came back and was cut off later.
 */
const mayEvict = (world: World): boolean =>
  world.swept || !(isUp(world) || world.machine.hibernates) || !hasPosted(world);

const controllers: readonly Event[] = [
  {
    says: 'the node controller sets the Node to NotReady',
    happens: (world) =>
      world.node?.ready && world.lease.age > 1 && !(isUp(world) && world.connected)
        ? withReadiness(world, false)
        : null,
  },
  {
    says: 'taint eviction begins to delete the pod',
    happens: (world) =>
      world.node && !world.node.ready && world.pod === 'bound' && mayEvict(world)
        ? { ...world, pod: 'deleting' }
        : null,
  },
  {
    says: 'taint eviction begins to delete the other pod',
    happens: (world) =>
      world.node && !world.node.ready && world.neighbor === 'bound' && mayEvict(world)
        ? { ...world, neighbor: 'deleting' }
        : null,
  },
  {
    says: 'PodGC removes the other pod, because the Node is out of service',
    happens: (world) =>
      world.node && !world.node.ready && world.neighbor === 'deleting' && isOutOfService(world.node)
        ? { ...world, neighbor: 'gone' }
        : null,
  },
  {
    says: 'PodGC removes the pod, because the Node is out of service',
    happens: (world) =>
      world.node && !world.node.ready && world.pod === 'deleting' && isOutOfService(world.node)
        ? { ...world, pod: 'gone' }
        : null,
  },
  {
    says: 'PodGC removes the pods of a Node that is gone',
    happens: (world) =>
      world.node === null && (world.pod !== 'gone' || world.neighbor !== 'gone')
        ? { ...world, pod: 'gone', neighbor: 'gone' }
        : null,
  },
  {
    says: 'attach-detach deletes the VolumeAttachment',
    happens: (world) =>
      world.attachment === 'attached' && world.pod === 'gone' && (!world.inUse || isOutOfService(world.node))
        ? { ...world, attachment: 'deleting' }
        : null,
  },
  {
    says: 'the attacher detaches the disk',
    happens: (world, { cloud }) => {
      if (world.attachment !== 'deleting' || world.attacherDown) return null;
      return { ...(world.disk === 'here' ? detached(world, cloud) : world), attachment: 'gone' };
    },
  },
  {
    says: 'the database is replaced on another Node: the disk is attached there, and the new database writes',
    happens: (world) =>
      world.pod === 'gone' && world.attachment === 'gone' && world.disk === 'free' ? { ...world, disk: 'there' } : null,
  },
  {
    says: "the scheduler places the database's next pod on this Node",
    needs: 'somebody',
    happens: (world) => {
      const isFree = world.pod === 'gone' && world.node?.ready === true && world.node.taints.length === 0;
      const after = isFree && world.disk !== 'there' ? spend(world, 'replacements') : null;
      return after && { ...after, pod: 'bound', podNumber: world.podNumber + 1 };
    },
  },
  {
    says: 'attach-detach and the attacher attach the disk for the pod',
    happens: (world) =>
      world.pod === 'bound' &&
      world.node?.ready &&
      world.attachment === 'gone' &&
      world.disk === 'free' &&
      !world.attacherDown
        ? { ...world, attachment: 'attached', attachmentNumber: world.attachmentNumber + 1, disk: 'here' }
        : null,
  },
  {
    says: 'the cloud controller deletes the Node of the terminated machine',
    needs: 'a cloud controller',
    happens: (world) => (isGone(world) && world.node ? { ...world, node: null } : null),
  },
];

const without = (from: Readonly<Record<string, string>>, keys: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(from).filter(([key]) => !keys.includes(key)));

/** Returns the start to which a removal is limited. Null if nobody can know it, because the cloud is asked elsewhere. */
const startIn = ({ asked, machine: { boot } }: World): number | null => (asked === 'about it' ? boot : null);

const people: readonly Event[] = [
  {
    says: 'a person deletes the Node',
    needs: 'somebody',
    happens: (world) => {
      const after = world.node ? spend(world, 'nodeDeletions') : null;
      return after && { ...after, node: null };
    },
  },
  {
    says: 'a person removes the out-of-service taint',
    happens: (world) => {
      const after = isOutOfService(world.node) ? spend(world, 'removals') : null;
      if (!after?.node) return null;
      const { taints, boot } = after.node;
      return {
        ...withNode(after, { taints: taints.filter(({ key }) => key !== OUT_OF_SERVICE.key) }),
        removed: isTaintedByUs(after.node) ? { boot, start: startIn(after), age: 0 } : after.removed,
      };
    },
  },
  {
    says: "the kubelet removes the Node's record",
    happens: (world) => {
      const after = world.node?.annotations[RECORD_ANNOTATION] === undefined ? null : spend(world, 'recordRemovals');
      return after?.node
        ? {
            ...withNode(after, { annotations: without(after.node.annotations, [RECORD_ANNOTATION]) }),
            recordRemoved: labelOn(after.node),
          }
        : null;
    },
  },
  {
    says: 'a person removes the whole fence',
    happens: (world) => {
      const after = isQuarantined(world.node) ? spend(world, 'removals') : null;
      return after?.node
        ? {
            ...withNode(after, {
              taints: after.node.taints.filter(({ key }) => key !== OUT_OF_SERVICE.key && key !== QUARANTINE.key),
              labels: without(after.node.labels, [FENCED_LABEL, TAINT_LABEL, SEAL_LABEL]),
              annotations: without(after.node.annotations, [RECORD_ANNOTATION]),
            }),
            removed: { boot: null, start: after.machine.boot, age: 0 },
          }
        : null;
    },
  },
];

/**
 * Returns the world in which a person has just said that the fence on the Node is to end. Null if there is no fence.
 */
export const afterWord = (world: World): World | null => {
  const after = isQuarantined(world.node) ? spend(world, 'accepts') : null;
  return after && { ...after, word: { start: after.machine.boot, laterFence: false } };
};

/** Returns the world in which a person has just stated that the machine is off. Null if nobody does. */
export const afterVouch = (world: World): World | null => {
  const after = world.machine.power === 'off' ? spend(world, 'vouches') : null;
  return after && { ...after, vouched: { start: after.machine.boot, kernel: after.machine.kernel } };
};

const settings: readonly Event[] = [
  /** A person who sets the taint no longer means what their removal of ours said. */
  {
    says: 'a person sets the out-of-service taint',
    needs: 'somebody',
    happens: (world) => {
      const isFree = world.machine.power === 'off' && world.node !== null && !isOutOfService(world.node);
      const after = isFree ? spend(world, 'foreignTaints') : null;
      if (!after?.node) return null;
      const tainted = withNode(after, { taints: [...after.node.taints, BY_HAND] });
      return after.removed?.boot === null ? tainted : { ...tainted, removed: null };
    },
  },
  {
    says: 'a person pauses Cloudfence',
    needs: 'somebody',
    happens: (world) => {
      const after = world.paused === null ? spend(world, 'pauses') : null;
      return after && { ...after, paused: 0 };
    },
  },
  {
    says: 'a person ends the pause',
    happens: (world) => (world.paused === null ? null : { ...world, paused: null }),
  },
  {
    says: 'a person opts the Node out',
    needs: 'somebody',
    happens: (world) => {
      const after = world.node ? spend(world, 'optOuts') : null;
      return after?.node
        ? { ...withNode(after, { labels: { ...after.node.labels, [OPT_OUT_LABEL]: 'by-hand' } }), optedOut: 0 }
        : null;
    },
  },
  {
    says: 'the cap has room again',
    happens: (world) => (world.cap === 'reached' ? { ...world, cap: 'open' } : null),
  },
];

/** Another Node, which may belong to the machine. A kubelet that gets another name registers one. */
const rivals: readonly Event[] = [
  {
    says: 'another Node registers, and does not say yet which machine it is',
    needs: 'somebody',
    happens: (world) => {
      const after = world.rival === null ? spend(world, 'claims') : null;
      return after && { ...after, rival: { says: 'nothing yet', age: 0 } };
    },
  },
  {
    says: 'the cloud controller writes on the other Node that it is this machine',
    happens: (world) =>
      world.rival?.says === 'nothing yet' ? { ...world, rival: { ...world.rival, says: 'this machine' } } : null,
  },
  {
    says: 'the cloud controller writes on the other Node that it is another machine',
    happens: (world) => (world.rival?.says === 'nothing yet' ? { ...world, rival: null } : null),
  },
];

export const events: readonly Event[] = [...machine, ...kubelet, ...controllers, ...people, ...settings, ...rivals];

const renewsForFree: Event = {
  says: 'the kubelet renews its Lease',
  happens: (world) =>
    isUp(world) && world.connected && world.lease.age > 1
      ? { ...world, lease: { renewal: world.lease.renewal + 1, age: 0 } }
      : null,
};

/**
 * What still happens when nobody stops, starts, cuts off, or removes anything: everything that has begun continues to
 * its end. A cloud controller does not count, because Cloudfence itself has to delete the Node of a terminated machine.
 */
export const progress: readonly Event[] = [
  ...[...machine, ...kubelet, ...controllers, ...settings, ...rivals].filter(({ needs }) => needs === undefined),
  renewsForFree,
];
