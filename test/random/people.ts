import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { isForged } from '../../fencing/model/cluster-facts.ts';
import {
  FENCED_LABEL,
  OUT_OF_SERVICE,
  PAUSE_KEY,
  QUARANTINE,
  RECORD_ANNOTATION,
  SETTINGS,
  SEAL_LABEL,
  TAINT_LABEL,
} from '../../kubernetes/names.ts';
import { nodeFacts } from '../../kubernetes/node-facts.ts';
import { hasTaintKey, isDeleting, keyIn, nameOf, taintsOf, uidOf, withTaints } from './cluster-objects.ts';
import type { Install } from './install.ts';
import type { Engine } from './engine.ts';
import { type Cluster, podKey } from './kubernetes.ts';
import { isOff, type Machine } from './machines.ts';
import type { OptOutBy } from './opt-outs.ts';
import type { OtherVersion } from './other-versions.ts';
import { isOurTaint, oursOn } from './fence-on-node.ts';
import type { Safety } from './safety.ts';

/** What people and deploys do to a cluster. Each function returns whether there was anything to do. */

interface World {
  readonly engine: Engine;
  readonly cluster: Cluster;
  readonly safety: Safety;
  readonly install: Install;
  readonly machineAt: (at: number) => Machine | undefined;
}

export type PartOfFence = 'remove-label' | 'remove-seal' | 'remove-taint-label' | 'remove-quarantine';

/** What a kubelet may write into the record of a fence. */
const changesOfRecord = [
  { phase: 'releasing' },
  { phase: 'fenced' },
  { phase: 'lifted' },
  { generation: null },
  { bootID: 'another' },
  { machine: 'another' },
  { nodeUid: 'another' },
  { fence: 'another' },
  { vouched: 'the kubelet', generationDrifts: true },
  { released: '2026-01-01T00:00:00.000Z' },
  { outOfService: 'foreign' },
  { volumes: [], pods: [] },
  { version: 2 },
] as const;

const HOLD = 'example.com/backup';

/** A message that a run wrote earlier, for a run that only imagines its steps. */
const lookAgain = (machine: string) => ({
  cloudfence: 'look-again',
  machine,
  hops: 1,
  because: 'pods-going',
  event: null,
  eventAt: null,
  record: null,
  dryRun: true,
});

export const peopleAt = ({ engine, cluster, safety, install, machineAt }: World) => {
  const nodeAt = (at: number) => {
    const machine = machineAt(at);
    return machine && cluster.nodeBelow(machine);
  };
  const setPause = (paused: boolean): void => {
    const key = keyIn(SETTINGS.namespace, SETTINGS.name);
    cluster.objects.maps.put(key, {
      metadata: { name: SETTINGS.name },
      data: paused ? { [PAUSE_KEY]: 'maintenance' } : {},
    });
    safety.notePause(paused);
  };
  const setOptOut = (at: number, by: OptOutBy | null): boolean => {
    const node = nodeAt(at);
    return node !== undefined && safety.optOuts.set(node, by);
  };
  /** Writes the Node. If nothing on it tells a run about a removal any more, that removal no longer counts. */
  const putTampered = (node: V1Node): void => {
    const { tombstone, record, strayRecord, taintedFor, taints, label } = nodeFacts(node, []);
    const isTold = tombstone ?? record ?? strayRecord ?? taintedFor;
    if (isTold === null && (taints.quarantine || label === null)) safety.interference.forgetRemovals(node);
    cluster.objects.nodes.put(nameOf(node), node);
  };
  const removeTaint = (at: number): boolean => {
    const node = nodeAt(at);
    const own = node && taintsOf(node).find(isOurTaint);
    if (!node || !own) return false;
    safety.interference.noteRemoval(node);
    const taints = taintsOf(node).filter((taint) => taint !== own);
    putTampered(withTaints(node, taints));
    return true;
  };
  const removeFence = (at: number): boolean => {
    const node = nodeAt(at);
    if (!node || oursOn(node).length === 0) return false;
    safety.interference.noteChange(node);
    safety.interference.forgetRemovals(node);
    const {
      [FENCED_LABEL]: _fence,
      [TAINT_LABEL]: _taint,
      [SEAL_LABEL]: _seal,
      ...labels
    } = node.metadata?.labels ?? {};
    const { [RECORD_ANNOTATION]: _record, ...annotations } = node.metadata?.annotations ?? {};
    const taints = taintsOf(node).filter(({ key }) => key !== OUT_OF_SERVICE.key && key !== QUARANTINE.key);
    cluster.objects.nodes.put(
      nameOf(node),
      withTaints({ ...node, metadata: { ...node.metadata, labels, annotations } }, taints),
    );
    return true;
  };
  const removeLabel = (at: number, label: string): boolean => {
    const node = nodeAt(at);
    const { [label]: value, ...labels } = node?.metadata?.labels ?? {};
    if (!node || value === undefined) return false;
    safety.interference.noteChange(node);
    putTampered({ ...node, metadata: { ...node.metadata, labels } });
    return true;
  };
  const removeQuarantine = (at: number): boolean => {
    const node = nodeAt(at);
    if (!node || !hasTaintKey(node, QUARANTINE.key)) return false;
    safety.interference.noteRemoval(node);
    safety.interference.noteChange(node);
    const taints = taintsOf(node).filter(({ key }) => key !== QUARANTINE.key);
    cluster.objects.nodes.put(nameOf(node), withTaints(node, taints));
    return true;
  };
  /** Removes one part of a fence. The rest of it stays. */
  const removePart = (at: number, part: PartOfFence): boolean => {
    switch (part) {
      case 'remove-label':
        return removeLabel(at, FENCED_LABEL);
      case 'remove-seal':
        return removeLabel(at, SEAL_LABEL);
      case 'remove-taint-label':
        return removeLabel(at, TAINT_LABEL);
      case 'remove-quarantine':
        return removeQuarantine(at);
    }
  };
  const removeRecord = (at: number): boolean => {
    const node = nodeAt(at);
    const { [RECORD_ANNOTATION]: record, ...annotations } = node?.metadata?.annotations ?? {};
    if (!node || record === undefined) return false;
    safety.interference.noteChange(node);
    putTampered({ ...node, metadata: { ...node.metadata, annotations } });
    return true;
  };
  /** Changes one field of a record that has a seal. Cloudfence trusts a record of a version without seals. */
  const changeRecord = (at: number, choice: number): boolean => {
    const node = nodeAt(at);
    const { [RECORD_ANNOTATION]: text, ...annotations } = node?.metadata?.annotations ?? {};
    if (!node || text === undefined || node.metadata?.labels?.[SEAL_LABEL] === undefined) return false;
    safety.interference.noteChange(node);
    const change = changesOfRecord[choice % changesOfRecord.length];
    const changed = JSON.stringify({ ...JSON.parse(text), ...change });
    putTampered({
      ...node,
      metadata: { ...node.metadata, annotations: { ...annotations, [RECORD_ANNOTATION]: changed } },
    });
    return true;
  };
  const addForeignTaint = (at: number): boolean => {
    const node = nodeAt(at);
    if (!node || hasTaintKey(node, OUT_OF_SERVICE.key)) return false;
    safety.interference.noteForeignTaint(node);
    const foreign = { key: OUT_OF_SERVICE.key, value: 'nodeshutdown', effect: 'NoExecute' };
    cluster.objects.nodes.put(nameOf(node), withTaints(node, [...taintsOf(node), foreign]));
    return true;
  };
  const deleteNode = (machine: Machine | undefined): boolean => {
    const node = machine && cluster.nodeBelow(machine);
    if (!node || !isOff(machine)) return false;
    cluster.objects.nodes.remove(nameOf(node));
    cluster.objects.csiNodes.remove(nameOf(node));
    return true;
  };
  const deploy = (version: OtherVersion): void => {
    install.upgrade();
    install.rewrite(version.message);
    for (const node of cluster.objects.nodes.all()) {
      const text = node.metadata?.annotations?.[RECORD_ANNOTATION];
      if (text === undefined) continue;
      const annotations = { ...node.metadata?.annotations, [RECORD_ANNOTATION]: version.record(text) };
      const { [SEAL_LABEL]: _seal, ...unsealed } = node.metadata?.labels ?? {};
      const isChanged = isForged(nodeFacts(node, []));
      const labels = version.seals || isChanged ? node.metadata?.labels : unsealed;
      cluster.objects.nodes.put(nameOf(node), {
        ...node,
        metadata: { ...node.metadata, ...(labels && { labels }), annotations },
      });
    }
  };
  /** A pod that is not scheduled, because its spec names the Node. */
  const bindPod = (at: number): boolean => {
    const node = nodeAt(at);
    const machine = machineAt(at);
    const name = `by-hand-${at}`;
    if (!node || !machine || cluster.objects.pods.get(podKey(name))) return false;
    cluster.bindPod(machine, {
      metadata: { name, namespace: 'default' },
      spec: { containers: [], nodeName: nameOf(node) },
      status: { phase: 'Pending' },
    });
    return true;
  };
  /** Something else wants to act before the pod goes. */
  const holdPod = (at: number, ms: number): boolean => {
    const machine = machineAt(at);
    const pod = cluster.objects.pods.all().find((one) => machine && cluster.machineOfPod.get(uidOf(one)) === machine);
    if (!pod || pod.metadata?.finalizers) return false;
    cluster.objects.pods.put(podKey(nameOf(pod)), { ...pod, metadata: { ...pod.metadata, finalizers: [HOLD] } });
    engine.after(ms, () => letPodGo(nameOf(pod)));
    return true;
  };
  const letPodGo = (name: string): void => {
    const pod = cluster.objects.pods.get(podKey(name));
    if (!pod?.metadata?.finalizers) return;
    const { finalizers: _held, ...metadata } = pod.metadata;
    if (isDeleting(pod)) cluster.objects.pods.remove(podKey(name));
    else cluster.objects.pods.put(podKey(name), { ...pod, metadata });
  };
  const letPodsGo = (): void => {
    for (const pod of cluster.objects.pods.all()) letPodGo(nameOf(pod));
  };
  const askForDryRun = (at: number): boolean => {
    const machine = machineAt(at);
    if (machine) install.send(JSON.stringify(lookAgain(machine.id)));
    return machine !== undefined;
  };
  /** A person releases a fence, with the usual proof, or with `release --accept`. */
  const release = (at: number, accepted: string | null): boolean => {
    const node = nodeAt(at);
    const machine = machineAt(at);
    if (!node || !machine || oursOn(node).length === 0) return false;
    if (accepted !== null) safety.interference.noteAcceptance(node);
    install.release(machine.id, accepted === null ? null : { says: accepted, node: nameOf(node) });
    return true;
  };
  const watching = { bindPod, holdPod, letPodsGo, askForDryRun, release };
  return {
    ...watching,
    setPause,
    setOptOut,
    removeTaint,
    removeFence,
    removePart,
    removeRecord,
    changeRecord,
    addForeignTaint,
    deleteNode,
    deploy,
  };
};
