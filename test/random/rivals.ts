import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { CSI_NODE_IDS, ZONE_LABEL } from '../../kubernetes/names.ts';
import { type Objects, renewTimeAt, uidOf } from './cluster-objects.ts';
import type { Engine } from './engine.ts';
import { isUp, type Machine, offSinceOf, RENEWS_EVERY_MS } from './machines.ts';
import { providerIdOf } from './names.ts';
import { EPOCH } from './process.ts';

/**
 * Second Nodes of a machine: its kubelet registers under another name, as after a change of the hostname. The first
 * Node stays, and is silent from then on.
 */

export interface Rivals {
  /** The kubelet registers again. Returns whether it could. */
  readonly register: (machine: Machine) => boolean;
  /** When the kubelet last renewed the Lease of a second Node. Null if no second Node has the name. */
  readonly leaseOf: (node: string) => string | null;
  /** A person deletes the second Nodes. */
  readonly removeAll: () => void;
}

interface World {
  readonly engine: Engine;
  readonly objects: Objects;
  readonly machineOfNode: ReadonlyMap<string, Machine>;
}

const UNREACHABLE_AFTER_MS = 45_000;

const secondNodeOf = (machine: Machine, name: string, { metadata, status }: V1Node): V1Node => ({
  metadata: {
    name,
    labels: { [ZONE_LABEL]: machine.zone, 'kubernetes.io/hostname': name },
    annotations: { [CSI_NODE_IDS]: metadata?.annotations?.[CSI_NODE_IDS] ?? '{}' },
  },
  // A person has cordoned it, so no pod comes to it.
  spec: {
    providerID: providerIdOf(machine),
    taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }],
  },
  status: { ...(status?.nodeInfo && { nodeInfo: status.nodeInfo }) },
});

export const createRivals = ({ engine, objects, machineOfNode }: World): Rivals => {
  const machines = new Map<string, Machine>();
  const withReady = (node: V1Node, status: 'True' | 'Unknown'): V1Node => ({
    ...node,
    status: {
      ...node.status,
      conditions: [{ type: 'Ready', status, lastTransitionTime: new Date(EPOCH + engine.now()) }],
    },
  });
  const renewedAt = (machine: Machine): number =>
    Math.floor((isUp(machine) ? engine.now() : (offSinceOf(machine) ?? 0)) / RENEWS_EVERY_MS) * RENEWS_EVERY_MS;
  /** Writes the Node's condition when it changes. */
  const watchNode = (name: string, machine: Machine, wasReady: boolean): void => {
    const node = objects.nodes.get(name);
    if (!node || !machines.has(name)) return;
    const ready = engine.now() - renewedAt(machine) < UNREACHABLE_AFTER_MS;
    if (ready !== wasReady) objects.nodes.put(name, withReady(node, ready ? 'True' : 'Unknown'));
    engine.after(RENEWS_EVERY_MS, () => watchNode(name, machine, ready));
  };
  return {
    register: (machine) => {
      const node = objects.nodes.get(machine.node);
      const name = `${machine.node}-again`;
      if (!node || machineOfNode.get(uidOf(node)) !== machine || !isUp(machine) || objects.nodes.get(name))
        return false;
      machines.set(name, machine);
      objects.nodes.put(name, withReady(secondNodeOf(machine, name, node), 'True'));
      watchNode(name, machine, true);
      return true;
    },
    leaseOf: (node) => {
      const machine = machines.get(node);
      return machine ? renewTimeAt(renewedAt(machine), 0) : null;
    },
    removeAll: () => {
      for (const name of machines.keys()) objects.nodes.remove(name);
      machines.clear();
    },
  };
};
