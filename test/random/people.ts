import {
  FENCED_LABEL,
  OPT_OUT_LABEL,
  OUT_OF_SERVICE,
  PAUSE_KEY,
  QUARANTINE,
  RECORD_ANNOTATION,
  SETTINGS,
  TAINT_LABEL,
} from '../../kubernetes/names.ts';
import { hasTaintKey, keyIn, nameOf, taintsOf, uidOf, withTaints } from './cluster-objects.ts';
import type { Install } from './install.ts';
import type { Cluster } from './kubernetes.ts';
import { isOff, type Machine } from './machines.ts';
import { asOldVersion } from './old-version.ts';
import { oursOn, type Safety } from './safety.ts';

/** What people and deploys do to a cluster. Each returns whether there was anything to do. */

interface World {
  readonly cluster: Cluster;
  readonly safety: Safety;
  readonly install: Install;
  readonly machineAt: (at: number) => Machine | undefined;
}

export const peopleAt = ({ cluster, safety, install, machineAt }: World) => {
  const nodeAt = (at: number) => {
    const machine = machineAt(at);
    const node = machine && cluster.objects.nodes.get(machine.node);
    return node && cluster.machineOfNode.get(uidOf(node)) === machine ? node : undefined;
  };
  const setPause = (paused: boolean): void => {
    const key = keyIn(SETTINGS.namespace, SETTINGS.name);
    cluster.objects.maps.put(key, {
      metadata: { name: SETTINGS.name },
      data: paused ? { [PAUSE_KEY]: 'maintenance' } : {},
    });
    safety.notePause(paused);
  };
  const setOptOut = (at: number, out: boolean): boolean => {
    const node = nodeAt(at);
    if (!node) return false;
    const { [OPT_OUT_LABEL]: _before, ...labels } = node.metadata?.labels ?? {};
    cluster.objects.nodes.put(nameOf(node), {
      ...node,
      metadata: { ...node.metadata, labels: out ? { ...labels, [OPT_OUT_LABEL]: 'mine' } : labels },
    });
    safety.noteOptOut(node, out);
    return true;
  };
  const removeTaint = (at: number): boolean => {
    const node = nodeAt(at);
    const own =
      node && taintsOf(node).find(({ key, value = '' }) => key === OUT_OF_SERVICE.key && value.includes('_in_'));
    if (!node || !own) return false;
    safety.noteRemoval(node);
    cluster.objects.nodes.put(
      nameOf(node),
      withTaints(
        node,
        taintsOf(node).filter((taint) => taint !== own),
      ),
    );
    return true;
  };
  const removeFence = (at: number): boolean => {
    const node = nodeAt(at);
    if (!node || oursOn(node).length === 0) return false;
    safety.forgetRemovals(node);
    const { [FENCED_LABEL]: _fence, [TAINT_LABEL]: _taint, ...labels } = node.metadata?.labels ?? {};
    const { [RECORD_ANNOTATION]: _record, ...annotations } = node.metadata?.annotations ?? {};
    const taints = taintsOf(node).filter(({ key }) => key !== OUT_OF_SERVICE.key && key !== QUARANTINE.key);
    cluster.objects.nodes.put(
      nameOf(node),
      withTaints({ ...node, metadata: { ...node.metadata, labels, annotations } }, taints),
    );
    return true;
  };
  const addForeignTaint = (at: number): boolean => {
    const node = nodeAt(at);
    if (!node || hasTaintKey(node, OUT_OF_SERVICE.key)) return false;
    // Who sets such a taint takes back what a person removed.
    safety.forgetRemovals(node);
    const foreign = { key: OUT_OF_SERVICE.key, value: 'nodeshutdown', effect: 'NoExecute' };
    cluster.objects.nodes.put(nameOf(node), withTaints(node, [...taintsOf(node), foreign]));
    return true;
  };
  const deleteNode = (at: number): boolean => {
    const node = nodeAt(at);
    const machine = machineAt(at);
    if (!node || !machine || !isOff(machine)) return false;
    cluster.objects.nodes.remove(nameOf(node));
    cluster.objects.csiNodes.remove(nameOf(node));
    return true;
  };
  const deployOld = (): void => {
    install.upgrade();
    install.rewrite(asOldVersion.message);
    for (const node of cluster.objects.nodes.all()) {
      const text = node.metadata?.annotations?.[RECORD_ANNOTATION];
      if (text === undefined) continue;
      const annotations = { ...node.metadata?.annotations, [RECORD_ANNOTATION]: asOldVersion.record(text) };
      cluster.objects.nodes.put(nameOf(node), { ...node, metadata: { ...node.metadata, annotations } });
    }
  };
  return { setPause, setOptOut, removeTaint, removeFence, addForeignTaint, deleteNode, deployOld };
};
