import { FENCED_LABEL, OUT_OF_SERVICE, QUARANTINE, RECORD_ANNOTATION, TAINT_LABEL } from '../../kubernetes/names.ts';
import { type Assumption, type Budget, isUp, type NodeState, withMachine, withNode, type World } from './world.ts';

/**
 * Everybody beside Cloudfence: the machine, its kubelet, Kubernetes' controllers, and people. Each may act at any
 * moment at which its condition holds.
 */

export interface Event {
  /** A sentence about what happens. */
  readonly says: string;
  /** Returns the world after the event, or null if it cannot happen now. */
  readonly happens: (world: World, assumption: Assumption) => World | null;
}

/** Uses up one of what may still happen. Null if none is left. */
export const spend = (world: World, what: keyof Budget): World | null =>
  world.budget[what] > 0 ? { ...world, budget: { ...world.budget, [what]: world.budget[what] - 1 } } : null;

const taintedOut = (node: NodeState | null): boolean =>
  node?.taints.some(({ key }) => key === OUT_OF_SERVICE.key) ?? false;

const machine: readonly Event[] = [
  {
    says: 'somebody stops the machine',
    happens: (world) => {
      const after = world.machine.power === 'running' ? spend(world, 'stops') : null;
      return after && withMachine(after, { power: 'stopping', since: 0 });
    },
  },
  {
    says: 'the machine is off',
    happens: (world) =>
      world.machine.power === 'stopping'
        ? withMachine(world, { power: 'off', since: 0, mounts: false, writes: false })
        : null,
  },
  {
    says: 'somebody starts the machine',
    happens: (world) => {
      const after = world.machine.power === 'off' ? spend(world, 'starts') : null;
      return (
        after && {
          ...withMachine(after, { power: 'starting', boot: world.machine.boot + 1, since: 0, started: 0 }),
          wasOff: 0,
          swept: false,
        }
      );
    },
  },
  {
    says: 'the guest has booted',
    happens: (world) =>
      world.machine.power === 'starting' ? withMachine(world, { power: 'running', since: 0 }) : null,
  },
  {
    says: 'somebody terminates the machine',
    happens: (world) => {
      const after = world.machine.power === 'off' ? spend(world, 'terminations') : null;
      return after && withMachine(after, { power: 'gone', since: 0 });
    },
  },
];

const hasPosted = ({ node, machine: { boot } }: World): boolean => node?.boot === boot;

const kubelet: readonly Event[] = [
  {
    says: 'the kubelet posts its boot and is Ready',
    happens: (world) =>
      world.machine.power === 'running' && world.connected && world.node && !(hasPosted(world) && world.node.ready)
        ? withNode(world, { boot: world.machine.boot, ready: true })
        : null,
  },
  {
    says: 'the kubelet renews its Lease',
    happens: (world) => {
      const after = isUp(world) && world.connected && world.lease.age > 0 ? spend(world, 'renewals') : null;
      return after && { ...after, lease: { renewal: world.lease.renewal + 1, age: 0 } };
    },
  },
  {
    says: 'the kubelet finds its pod and the disk attached, and begins to mount',
    happens: (world, { bootToMount, postsBootFirst }) => {
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
      world.machine.power === 'running' && world.connected && world.pod !== 'bound' && world.machine.mounts
        ? { ...withMachine(world, { writes: false, mounts: false }), pod: 'gone', inUse: false }
        : null,
  },
  {
    says: 'the kubelet is cut off from the API server',
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
    happens: (world) =>
      world.attachment === 'deleting'
        ? { ...world, attachment: 'gone', disk: world.disk === 'here' ? 'free' : world.disk }
        : null,
  },
  {
    says: 'the database is replaced on another Node',
    happens: (world) =>
      world.pod === 'gone' && world.replacement === 'none' ? { ...world, replacement: 'waiting' } : null,
  },
  {
    says: 'the disk is attached to the other machine, and the new database writes',
    happens: (world) =>
      world.replacement === 'waiting' && world.attachment === 'gone' && world.disk === 'free'
        ? { ...world, replacement: 'writing', disk: 'there' }
        : null,
  },
  {
    says: 'the cloud controller deletes the Node of the terminated machine',
    happens: (world) => (world.machine.power === 'gone' && world.node ? { ...world, node: null } : null),
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
      return after && withNode(after, { taints });
    },
  },
  {
    says: 'a person removes the whole fence',
    happens: (world) => {
      const after = isMarked(world.node) ? spend(world, 'removals') : null;
      return after?.node
        ? withNode(after, {
            taints: after.node.taints.filter(({ key }) => key !== OUT_OF_SERVICE.key && key !== QUARANTINE.key),
            labels: without(after.node.labels, [FENCED_LABEL, TAINT_LABEL]),
            annotations: without(after.node.annotations, [RECORD_ANNOTATION]),
          })
        : null;
    },
  },
];

export const events: readonly Event[] = [...machine, ...kubelet, ...controllers, ...people];
