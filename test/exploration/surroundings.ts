import { FENCED_LABEL, OUT_OF_SERVICE, QUARANTINE, RECORD_ANNOTATION, TAINT_LABEL } from '../../kubernetes/names.ts';
import type { Scenario } from './explore.ts';
import {
  type Budget,
  detached,
  isGone,
  isUp,
  type NodeState,
  shownBy,
  withMachine,
  withNode,
  type World,
} from './world.ts';

/**
 * Everybody beside Cloudfence: the machine, its kubelet, Kubernetes' controllers, and people. Each may act at any
 * moment at which its condition holds.
 */

export interface Event {
  /** A sentence about what happens. */
  readonly says: string;
  /** Who makes it happen. Undefined if it happens by itself. */
  readonly needs?: 'somebody' | 'a cloud controller';
  /** Returns the world after the event, or null if it cannot happen now. */
  readonly happens: (world: World, scenario: Pick<Scenario, 'assumption' | 'cloud'>) => World | null;
}

/** Uses up one of what may still happen. Null if none is left. */
export const spend = (world: World, what: keyof Budget): World | null =>
  world.budget[what] > 0 ? { ...world, budget: { ...world.budget, [what]: world.budget[what] - 1 } } : null;

const taintedOut = (node: NodeState | null): boolean =>
  node?.taints.some(({ key }) => key === OUT_OF_SERVICE.key) ?? false;

const machine: readonly Event[] = [
  {
    says: 'somebody stops the machine',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'running' ? spend(world, 'stops') : null;
      return after && withMachine(after, { power: 'stopping', byGuest: false });
    },
  },
  {
    says: 'the guest shuts itself down',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'running' ? spend(world, 'shutdowns') : null;
      return after && withMachine(after, { power: 'stopping', byGuest: true });
    },
  },
  {
    says: 'the machine is off',
    happens: (world) =>
      world.machine.power === 'stopping' ? withMachine(world, { power: 'off', mounts: false, writes: false }) : null,
  },
  {
    says: 'somebody starts the machine',
    needs: 'somebody',
    happens: (world) => {
      const after = world.machine.power === 'off' ? spend(world, 'starts') : null;
      return (
        after && {
          ...withMachine(after, { power: 'starting', boot: world.machine.boot + 1, started: 0 }),
          wasOff: 0,
          shownOff: shownBy(world),
          swept: false,
        }
      );
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

const hasPosted = ({ node, machine: { boot } }: World): boolean => node?.boot === boot;

/** Returns whether the kubelet has anything to post, and reaches the API server. */
const postsAnything = (world: World): boolean =>
  world.machine.power === 'running' && world.connected && !(hasPosted(world) && world.node?.ready);

/** Returns whether the kubelet has a pod to end, or its disk to unmount. */
const isLeftToEnd = ({ pod, machine: { mounts }, inUse }: World): boolean =>
  pod === 'deleting' || (pod === 'gone' && (mounts || inUse));

const kubelet: readonly Event[] = [
  {
    says: 'the kubelet posts its boot and is Ready',
    happens: (world, { assumption: { bootToPost } }) =>
      postsAnything(world) && world.machine.started >= bootToPost
        ? withNode(world, { boot: world.machine.boot, ready: true })
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
    says: 'the kubelet is cut off from the API server',
    needs: 'somebody',
    happens: (world) => {
      const after = world.connected && isUp(world) ? spend(world, 'cuts') : null;
      return after && { ...after, connected: false };
    },
  },
  {
    says: 'the kubelet reaches the API server again',
    happens: (world) => (world.connected ? null : { ...world, connected: true }),
  },
];

/**
 * Kubernetes evicts pods 300 s after a Node became NotReady. That is longer than the interval between two sweeps, so a
 * sweep has seen a machine that came back and was cut off later.
 */
const mayEvict = (world: World): boolean => world.swept || !isUp(world) || !hasPosted(world);

const controllers: readonly Event[] = [
  {
    says: 'the node controller sets the Node to NotReady',
    happens: (world) =>
      world.node?.ready && world.lease.age > 1 && !(isUp(world) && world.connected)
        ? withNode(world, { ready: false })
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
    says: 'PodGC removes the pod, because the Node is out of service',
    happens: (world) =>
      world.node && !world.node.ready && world.pod === 'deleting' && taintedOut(world.node)
        ? { ...world, pod: 'gone' }
        : null,
  },
  {
    says: 'PodGC removes the pod of a Node that is gone',
    happens: (world) => (world.node === null && world.pod !== 'gone' ? { ...world, pod: 'gone' } : null),
  },
  {
    says: 'attach-detach deletes the VolumeAttachment',
    happens: (world) =>
      world.attachment === 'attached' && world.pod === 'gone' && (!world.inUse || taintedOut(world.node))
        ? { ...world, attachment: 'deleting' }
        : null,
  },
  {
    says: 'the attacher detaches the disk',
    happens: (world, { cloud }) => {
      if (world.attachment !== 'deleting') return null;
      return { ...(world.disk === 'here' ? detached(world, cloud) : world), attachment: 'gone' };
    },
  },
  {
    says: 'the database is replaced on another Node: the disk is attached there, and the new database writes',
    happens: (world) =>
      world.pod === 'gone' && world.attachment === 'gone' && world.disk === 'free' ? { ...world, disk: 'there' } : null,
  },
  {
    says: 'the cloud controller deletes the Node of the terminated machine',
    needs: 'a cloud controller',
    happens: (world) => (isGone(world) && world.node ? { ...world, node: null } : null),
  },
];

const without = (from: Readonly<Record<string, string>>, keys: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(from).filter(([key]) => !keys.includes(key)));

const isMarked = (node: NodeState | null): boolean => node?.taints.some(({ key }) => key === QUARANTINE.key) ?? false;

const people: readonly Event[] = [
  {
    says: 'a person removes the out-of-service taint',
    happens: (world) => {
      const after = taintedOut(world.node) ? spend(world, 'removals') : null;
      const taints = after?.node?.taints.filter(({ key }) => key !== OUT_OF_SERVICE.key) ?? [];
      return after && { ...withNode(after, { taints }), removed: after.node && { boot: after.node.boot, age: 0 } };
    },
  },
  {
    says: 'a person removes the whole fence',
    happens: (world) => {
      const after = isMarked(world.node) ? spend(world, 'removals') : null;
      return after?.node
        ? {
            ...withNode(after, {
              taints: after.node.taints.filter(({ key }) => key !== OUT_OF_SERVICE.key && key !== QUARANTINE.key),
              labels: without(after.node.labels, [FENCED_LABEL, TAINT_LABEL]),
              annotations: without(after.node.annotations, [RECORD_ANNOTATION]),
            }),
            removed: { boot: null, age: 0 },
          }
        : null;
    },
  },
];

export const events: readonly Event[] = [...machine, ...kubelet, ...controllers, ...people];

const renewsForFree: Event = {
  says: 'the kubelet renews its Lease',
  happens: (world) =>
    isUp(world) && world.connected && world.lease.age > 1
      ? { ...world, lease: { renewal: world.lease.renewal + 1, age: 0 } }
      : null,
};

/**
 * What is left to happen once nobody stops, starts, cuts off, or removes anything: what begun goes on to its end. A
 * cloud controller does not count on it: Cloudfence has to delete the Node of a terminated machine itself.
 */
export const progress: readonly Event[] = [
  ...[...machine, ...kubelet, ...controllers].filter(({ needs }) => needs === undefined),
  renewsForFree,
];
