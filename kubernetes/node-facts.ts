import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { NodeFacts } from '../fencing/cluster-facts.ts';
import type { IdentityCarrier } from '../fencing/machine.ts';
import { parseRecord } from '../fencing/record.ts';
import { CONTROL_PLANE_LABELS, FENCED_LABEL, OUT_OF_SERVICE, QUARANTINE, RECORD_ANNOTATION, ZONE_LABEL } from './names.ts';
import { optOutsOfNode } from './opt-out.ts';

const READINESS = ['True', 'False'] as const;

/** Attach-detach and PodGC look at the taint's key only, and so does this. */
export const hasTaint = ({ spec }: V1Node, key: string): boolean => (spec?.taints ?? []).some((taint) => taint.key === key);

export const recordTextOf = ({ metadata }: V1Node): string | null => metadata?.annotations?.[RECORD_ANNOTATION] ?? null;

/** Metadata is enough to tell. */
export const isLabelled = ({ metadata }: V1Node): boolean => metadata?.labels?.[FENCED_LABEL.key] === FENCED_LABEL.value;

const readiness = ({ metadata, status }: V1Node): Pick<NodeFacts, 'ready' | 'readySince'> => {
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    ready: READINESS.find((known) => known === condition?.status) ?? 'Unknown',
    readySince: (condition?.lastTransitionTime ?? metadata?.creationTimestamp)?.getTime() ?? 0,
  };
};

const fenceOf = (node: V1Node): Pick<NodeFacts, 'taints' | 'labelled' | 'recordText' | 'record'> => {
  const recordText = recordTextOf(node);
  return {
    taints: { outOfService: hasTaint(node, OUT_OF_SERVICE.key), quarantine: hasTaint(node, QUARANTINE.key) },
    labelled: isLabelled(node),
    recordText,
    record: recordText === null ? null : parseRecord(recordText),
  };
};

export const nodeFacts = (node: V1Node, carriers: readonly IdentityCarrier[]): NodeFacts => {
  const { metadata, status } = node;
  const labels = metadata?.labels ?? {};
  return {
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    resourceVersion: metadata?.resourceVersion ?? '',
    created: metadata?.creationTimestamp?.getTime() ?? 0,
    bootID: status?.nodeInfo?.bootID ?? '',
    ...readiness(node),
    deleting: metadata?.deletionTimestamp !== undefined,
    zone: labels[ZONE_LABEL] ?? null,
    controlPlane: CONTROL_PLANE_LABELS.some((label) => labels[label] !== undefined),
    carriers,
    ...fenceOf(node),
    finalizers: metadata?.finalizers ?? [],
    owners: (metadata?.ownerReferences ?? []).map(({ kind }) => kind),
    optOuts: optOutsOfNode(metadata),
  };
};
