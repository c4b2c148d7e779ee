import {
  FENCED_LABEL,
  NUDGE_ANNOTATION,
  QUARANTINE,
  RECORD_ANNOTATION,
  REPORTER,
  TAINT_LABEL,
} from '../kubernetes/names.ts';
import { hasOwnTaint } from '../kubernetes/node-facts.ts';
import { listObjects } from '../sandbox/cluster/get-objects.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { hasTaint } from '../sandbox/cluster/controllers/taints.ts';
import type { EventObject, NodeObject } from '../sandbox/cluster/objects.ts';
import type { World } from '../sandbox/world.ts';

/** Traces of Cloudfence in a cluster, as anyone with kubectl can see them. */

/** Ignores a taint with the same key that someone else set. */
export const hasOwnOutOfServiceTaint = (node: NodeObject): boolean => hasOwnTaint(node);
export const hasQuarantine = (node: NodeObject): boolean => hasTaint(node, QUARANTINE.key);

/** Lists what Cloudfence left on a Node, in one word each. */
export const fenceTracesOn = (node: NodeObject): readonly string[] => [
  ...(hasOwnOutOfServiceTaint(node) ? ['out-of-service'] : []),
  ...(hasQuarantine(node) ? ['quarantine'] : []),
  ...([FENCED_LABEL, TAINT_LABEL].some((key) => node.metadata.labels?.[key] !== undefined) ? ['label'] : []),
  ...(node.metadata.annotations?.[RECORD_ANNOTATION] === undefined ? [] : ['record']),
];

export const nudgedAttachments = (world: World<ClusterParts>): readonly string[] =>
  listObjects(world, 'volumeattachments')
    .filter(({ metadata }) => metadata.annotations?.[NUDGE_ANNOTATION] !== undefined)
    .map(({ metadata }) => metadata.name);

/** Returns the first Event in which Cloudfence reports that it refused to fence this Node. */
export const refusalEvent = (world: World<ClusterParts>, node: string): EventObject | undefined =>
  listObjects(world, 'events').find(
    (event) =>
      event.reportingController === REPORTER && event.reason === 'FencingRefused' && event.regarding?.name === node,
  );
