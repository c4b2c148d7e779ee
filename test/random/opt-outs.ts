import type { V1Node, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { Policy } from '../../fencing/model/policy.ts';
import { OPT_OUT_ANNOTATION, OPT_OUT_LABEL } from '../../kubernetes/names.ts';
import { nameOf, uidOf } from './cluster-objects.ts';
import type { Cluster } from './kubernetes.ts';

/** Which opt-outs a Node has, and which of them count. */

export type OptOutBy = 'label' | 'annotation' | 'pod';

export interface OptOuts {
  /** Since when an opt-out that counts has been on the Node (ms), or null. */
  readonly sinceOn: (node: V1Node) => number | null;
  /** A person opts the Node out, or removes all its opt-outs (null). Returns whether that was possible. */
  readonly set: (node: V1Node, by: OptOutBy | null) => boolean;
}

interface World {
  readonly now: () => number;
  readonly cluster: Cluster;
  readonly policy: Policy;
}

const REASON = 'mine';

const isAnnotated = ({ metadata }: V1Node | V1Pod): boolean =>
  metadata?.annotations?.[OPT_OUT_ANNOTATION] !== undefined;
const isLabelled = ({ metadata }: V1Node): boolean => metadata?.labels?.[OPT_OUT_LABEL] !== undefined;

const without = (map: Readonly<Record<string, string>> | undefined, key: string): Record<string, string> => {
  const { [key]: _removed, ...others } = map ?? {};
  return others;
};

const annotated = <T extends V1Node | V1Pod>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata?.annotations, [OPT_OUT_ANNOTATION]: REASON } },
});

const freed = <T extends V1Node | V1Pod>(object: T): T => ({
  ...object,
  metadata: {
    ...object.metadata,
    labels: without(object.metadata?.labels, OPT_OUT_LABEL),
    annotations: without(object.metadata?.annotations, OPT_OUT_ANNOTATION),
  },
});

export const createOptOuts = ({ now, cluster: { objects }, policy }: World): OptOuts => {
  /** By the uid of the object and the kind of its opt-out. A later Node with the same name is not opted out. */
  const since = new Map<string, number>();
  const note = (object: V1Node | V1Pod, by: OptOutBy): void => {
    const key = `${uidOf(object)} ${by}`;
    if (!since.has(key)) since.set(key, now());
  };
  const sinceOf = (object: V1Node | V1Pod, by: OptOutBy): number => since.get(`${uidOf(object)} ${by}`) ?? Infinity;
  const podKeyOf = (pod: V1Pod): string => `${pod.metadata?.namespace ?? ''}/${nameOf(pod)}`;
  const podsOn = (node: V1Node): readonly V1Pod[] =>
    objects.pods.all().filter(({ spec, status }) => spec?.nodeName === nameOf(node) && status?.phase !== 'Failed');
  const add = (node: V1Node, by: OptOutBy): boolean => {
    if (by === 'label') {
      const labels = { ...node.metadata?.labels, [OPT_OUT_LABEL]: REASON };
      objects.nodes.put(nameOf(node), { ...node, metadata: { ...node.metadata, labels } });
    } else if (by === 'annotation') objects.nodes.put(nameOf(node), annotated(node));
    else {
      const [pod] = podsOn(node);
      if (!pod) return false;
      objects.pods.put(podKeyOf(pod), annotated(pod));
      note(pod, by);
      return true;
    }
    note(node, by);
    return true;
  };
  const remove = (node: V1Node): void => {
    objects.nodes.put(nameOf(node), freed(node));
    for (const by of ['label', 'annotation'] as const) since.delete(`${uidOf(node)} ${by}`);
    for (const pod of podsOn(node).filter(isAnnotated)) {
      objects.pods.put(podKeyOf(pod), freed(pod));
      since.delete(`${uidOf(pod)} pod`);
    }
  };
  return {
    sinceOn: (node) => {
      const byLabel = policy.optOut !== 'none' && isLabelled(node) ? [sinceOf(node, 'label')] : [];
      const byAnnotation = policy.optOut === 'pods' && isAnnotated(node) ? [sinceOf(node, 'annotation')] : [];
      const pods = policy.optOut === 'pods' ? podsOn(node).filter(isAnnotated) : [];
      const all = [...byLabel, ...byAnnotation, ...pods.map((pod) => sinceOf(pod, 'pod'))];
      return all.length === 0 ? null : Math.min(...all);
    },
    set: (node, by) => {
      if (by !== null) return add(node, by);
      remove(node);
      return true;
    },
  };
};
