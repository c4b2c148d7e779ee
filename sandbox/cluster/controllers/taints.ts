import type { NodeObject, Taint, Toleration } from '../objects.ts';

export const outOfService = 'node.kubernetes.io/out-of-service';
export const unreachable = 'node.kubernetes.io/unreachable';
export const notReady = 'node.kubernetes.io/not-ready';
export const unschedulable = 'node.kubernetes.io/unschedulable';
export const shutDown = 'node.cloudprovider.kubernetes.io/shutdown';

export const hasTaint = (node: NodeObject, key: string, effect?: Taint['effect']): boolean =>
  (node.spec.taints ?? []).some((taint) => taint.key === key && (effect === undefined || taint.effect === effect));

export const tolerates = (toleration: Toleration, taint: Taint): boolean => {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === 'Exists') return true;
  return toleration.key !== undefined && (toleration.value ?? '') === (taint.value ?? '');
};

/** Returns the taints that nothing in the list tolerates. */
export const untolerated = (
  tolerations: readonly Toleration[] | undefined,
  taints: readonly Taint[],
): readonly Taint[] =>
  taints.filter((taint) => !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)));

export const noExecute = (node: NodeObject): readonly Taint[] =>
  (node.spec.taints ?? []).filter((taint) => taint.effect === 'NoExecute');

export const addTaint = (node: NodeObject, taint: Taint): void => {
  if (!hasTaint(node, taint.key, taint.effect)) node.spec.taints = [...(node.spec.taints ?? []), taint];
};

export const dropTaint = (node: NodeObject, key: string, effect?: Taint['effect']): void => {
  const kept = (node.spec.taints ?? []).filter(
    (taint) => taint.key !== key || (effect !== undefined && taint.effect !== effect),
  );
  if (kept.length > 0) node.spec.taints = kept;
  else delete node.spec.taints;
};
