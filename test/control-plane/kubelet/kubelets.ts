import type { Api } from '../../testbed/api.ts';
import type { Informer } from '../../testbed/informer.ts';
import { openInformer } from '../../testbed/informer.ts';
import type { Kubelet } from './kubelet.ts';
import { kubeletOf } from './kubelet.ts';
import type { Machine } from './kubelet-node.ts';
import type { Node, Pod } from '../../testbed/objects.ts';
import { node, pod } from '../../testbed/objects.ts';

/**
 * All kubelets of one process. They share their watches, so that hundreds of them cost two watches, and each writes
 * with its own identity.
 */
export interface Kubelets {
  readonly join: (machine: Machine) => Promise<Kubelet>;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly close: () => void;
}

export const openKubelets = async (admin: Api): Promise<Kubelets> => {
  const closing = new AbortController();
  const byName = new Map<string, Kubelet>();
  const stirs = (name: string): void => byName.get(name)?.stir();
  const pods = openInformer(
    admin,
    '/api/v1/pods',
    pod,
    { changed: ({ spec }) => stirs(spec.nodeName) },
    closing.signal,
  );
  const nodes = openInformer(
    admin,
    '/api/v1/nodes',
    node,
    { changed: ({ metadata }) => stirs(metadata.name) },
    closing.signal,
  );
  await Promise.all([pods.synced, nodes.synced]);
  return {
    pods,
    nodes,
    join: async (machine) => {
      const own = () => pods.all().filter(({ spec }) => spec.nodeName === machine.name);
      const kubelet = kubeletOf(admin, machine, { pods: own, node: () => nodes.get(machine.name) });
      byName.set(machine.name, kubelet);
      await kubelet.boot();
      return kubelet;
    },
    close: () => {
      for (const kubelet of byName.values()) kubelet.die();
      closing.abort();
    },
  };
};
