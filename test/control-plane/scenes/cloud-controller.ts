import { setTimeout as delay } from 'node:timers/promises';
import type { Testbed } from '../../testbed/testbed.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import type { Node } from '../../testbed/objects.ts';
import { node } from '../../testbed/objects.ts';

/**
 * The behavior of AWS's cloud controller towards Nodes, every half second instead of every five, and of its neighbor
 * `node`, which removes the taint with which a kubelet registers.
 * https://github.com/kubernetes/cloud-provider/blob/master/controllers/nodelifecycle/node_lifecycle_controller.go
 */
export interface CloudController {
  readonly close: () => Promise<void>;
}

export const UNINITIALIZED = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};
export const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' };

const EVERY_MS = 500;

const isReady = ({ status }: Node): boolean =>
  status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');

/** Writes all taints at once with the version that was read, as the real controller does. A write in between wins. */
const writeTaints = ({ admin }: Testbed, { metadata }: Node, taints: readonly object[]) =>
  admin.call('PATCH', `/api/v1/nodes/${metadata.name}`, {
    metadata: { resourceVersion: metadata['resourceVersion'] },
    spec: { taints },
  });

const tend = async (testbed: Testbed, machine: TestbedNode): Promise<void> => {
  const { status, body } = await testbed.admin.call('GET', `/api/v1/nodes/${machine.name}`);
  if (status === 404) return;
  const found = node.parse(body);
  const has = ({ key }: { readonly key: string }) => found.spec.taints.some((taint) => taint.key === key);
  const without = ({ key }: { readonly key: string }) => found.spec.taints.filter((taint) => taint.key !== key);
  if (has(UNINITIALIZED)) return void (await writeTaints(testbed, found, without(UNINITIALIZED)));
  if (isReady(found)) return void (has(SHUTDOWN) && (await writeTaints(testbed, found, without(SHUTDOWN))));
  const state = await machine.state();
  if (state === 'terminated') await testbed.admin.call('DELETE', `/api/v1/nodes/${machine.name}`);
  if (state === 'stopped' && !has(SHUTDOWN)) await writeTaints(testbed, found, [...found.spec.taints, SHUTDOWN]);
};

/** Manages these nodes, including later ones, until it is closed. */
export const openCloudController = (testbed: Testbed, machines: readonly TestbedNode[]): CloudController => {
  const closing = new AbortController();
  const work = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      for (const machine of machines) await tend(testbed, machine);
      await delay(EVERY_MS);
    }
  };
  const working = work();
  return {
    close: async () => {
      closing.abort();
      await working;
    },
  };
};
