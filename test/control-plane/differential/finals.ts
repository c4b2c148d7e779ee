import { z } from 'zod';
import { NUDGE_ANNOTATION } from '../../../kubernetes/names.ts';
import type { Participants } from './participants.ts';
import { inStory, ownerOf } from './participants.ts';
import type { Watched } from './facets.ts';
import type { Writing } from './lines.ts';

/** The end of a story, as far as the sandbox models it: fields and their values, except times, uids, and the like. */

const anything = z.unknown().optional();
const texts = z.record(z.string(), z.string()).default({});
const conditions = z
  .array(z.object({ type: z.string(), status: z.string(), reason: anything, message: anything }))
  .default([]);
const inOrder = (values: readonly unknown[]): readonly string[] => values.map(inOneOrder).toSorted();

const node = z
  .object({
    metadata: z.object({ annotations: texts, labels: texts }),
    spec: z.object({
      providerID: anything,
      unschedulable: anything,
      taints: z.array(z.object({ key: z.string(), value: anything, effect: z.string() })).default([]),
    }),
    status: z.object({ conditions, volumesAttached: anything, volumesInUse: z.array(z.string()).default([]) }),
  })
  .transform(({ metadata, spec, status }) => ({
    nodeID: metadata.annotations['csi.volume.kubernetes.io/nodeid'],
    ours: Object.keys({ ...metadata.annotations, ...metadata.labels })
      .filter((key) => key.includes('cloudfence'))
      .toSorted(),
    spec: { ...spec, taints: inOrder(spec.taints) },
    status: {
      ...status,
      volumesAttached: status.volumesAttached ?? [],
      conditions: status.conditions.filter(({ type }) => type === 'Ready'),
    },
  }));

const toleration = z.object({ key: anything, operator: anything, effect: anything, tolerationSeconds: anything });
const ownerReference = z.object({ apiVersion: z.string(), kind: z.string(), name: z.string(), controller: anything });
const owned = z.object({ ownerReferences: z.array(ownerReference).default([]), deletionGracePeriodSeconds: anything });

const MODELLED_CONDITIONS = new Set(['Ready', 'DisruptionTarget']);

const pod = z
  .object({
    metadata: owned,
    spec: z.object({
      nodeName: anything,
      terminationGracePeriodSeconds: anything,
      tolerations: z.array(toleration).default([]),
      volumes: z.array(z.object({ name: z.string(), persistentVolumeClaim: anything })).default([]),
    }),
    status: z.object({
      phase: anything,
      conditions,
      containerStatuses: z
        .array(z.object({ ready: anything, state: z.record(z.string(), z.unknown()).transform(Object.keys) }))
        .default([]),
    }),
  })
  .transform(({ metadata, spec, status }) => ({
    metadata,
    spec: {
      ...spec,
      tolerations: inOrder(spec.tolerations),
      volumes: spec.volumes.filter(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined),
    },
    status: { ...status, conditions: inOrder(status.conditions.filter(({ type }) => MODELLED_CONDITIONS.has(type))) },
  }));

const volumeAttachment = z
  .object({
    metadata: z.object({ annotations: texts, finalizers: anything }),
    spec: anything,
    status: z.object({ attached: z.boolean() }),
  })
  .transform(({ metadata, ...rest }) => ({
    ...rest,
    ...metadata,
    annotations: Object.keys(metadata.annotations).filter((key) => key !== NUDGE_ANNOTATION),
  }));

const driver = z.object({ name: z.string(), nodeID: z.string(), topologyKeys: anything });
const csiNode = z.object({
  metadata: z.object({ ownerReferences: z.array(z.object({ kind: z.string(), name: z.string() })).default([]) }),
  spec: z.object({ drivers: z.array(driver) }),
});

const modelled: Readonly<Record<Watched, z.ZodType>> = {
  nodes: node,
  pods: pod,
  volumeattachments: volumeAttachment,
  csinodes: csiNode,
};

/** Returns the same text for the same object, whatever the order of its fields. */
const inOneOrder = (value: unknown): string =>
  JSON.stringify(value, (_, held: unknown) =>
    typeof held === 'object' && held !== null && !Array.isArray(held)
      ? Object.fromEntries(Object.entries(held).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : held,
  );

const ZONE = /\b[a-z]{2}-[a-z]+-\d[a-z]\b/g;

/** The objects at the end of the story by name, as JSON. */
export const finalsOf = (
  writings: readonly Writing[],
  participants: Participants,
): Readonly<Record<string, string>> => {
  const last = new Map<string, string>();
  for (const writing of writings.toSorted((one, other) => one.revision - other.revision)) {
    const name = ownerOf(participants, writing);
    if (name === null) continue;
    if (writing.gone) last.delete(name);
    else
      last.set(
        name,
        inStory(participants, inOneOrder(modelled[writing.kind].parse(writing.object))).replaceAll(ZONE, 'ZONE'),
      );
  }
  return Object.fromEntries(last);
};
