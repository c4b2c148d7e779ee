import { z } from 'zod';
import { FENCED_LABEL, NUDGE_ANNOTATION, RECORD_ANNOTATION } from '../../../kubernetes/names.ts';
import type { Participants } from './participants.ts';
import { inStory } from './participants.ts';

/** The properties of an object that the sandbox models, each in words. */

export const WATCHED = ['nodes', 'pods', 'volumeattachments', 'csinodes'] as const;
export type Watched = (typeof WATCHED)[number];

const texts = z.record(z.string(), z.string()).default({});
const metadata = z.looseObject({
  annotations: texts,
  labels: texts,
  finalizers: z.array(z.string()).default([]),
  deletionTimestamp: z.string().nullish(),
  deletionGracePeriodSeconds: z.number().nullish(),
});
const conditions = z
  .array(z.looseObject({ type: z.string(), status: z.string(), reason: z.string().default('') }))
  .default([]);

const node = z.looseObject({
  metadata,
  spec: z.looseObject({
    taints: z.array(z.looseObject({ key: z.string(), value: z.string().default(''), effect: z.string() })).default([]),
  }),
  status: z.looseObject({
    conditions,
    nodeInfo: z.looseObject({ bootID: z.string() }).nullish(),
    volumesAttached: z.array(z.looseObject({ name: z.string() })).default([]),
    volumesInUse: z.array(z.string()).default([]),
  }),
});

const containerStatus = z.looseObject({ state: z.record(z.string(), z.unknown()).default({}) });
const pod = z.looseObject({
  metadata,
  spec: z.looseObject({ nodeName: z.string().default('') }),
  status: z.looseObject({
    phase: z.string().default('Pending'),
    conditions,
    containerStatuses: z.array(containerStatus).default([]),
  }),
});

const fault = z.looseObject({ message: z.string() }).nullish();
const attachment = z.looseObject({
  metadata,
  status: z.looseObject({ attached: z.boolean(), attachError: fault, detachError: fault }),
});

type Facets = Readonly<Record<string, string>>;

const record = z.looseObject({ phase: z.string() });

const phaseOf = (annotations: Readonly<Record<string, string>>): string => {
  const written = annotations[RECORD_ANNOTATION];
  return written === undefined ? '' : record.parse(JSON.parse(written)).phase;
};

const statusOf = (known: z.infer<typeof conditions>, wanted: string): string =>
  known.find(({ type }) => type === wanted)?.status ?? '';
const reasonOf = (known: z.infer<typeof conditions>, wanted: string): string =>
  known.find(({ type }) => type === wanted)?.reason ?? '';

/** The value of our out-of-service taint names the run and the boot. Only the owner of the taint is compared. */
const OF_A_FENCE = /^.+_in_[0-9a-z]{14}$/;

const facetsOfNode = (written: unknown): Facets => {
  const { metadata, spec, status } = node.parse(written);
  return {
    taints: spec.taints
      .map(({ key, value, effect }) => `${key}=${value.replace(OF_A_FENCE, 'of-a-fence')}:${effect}`)
      .toSorted()
      .join(' '),
    ready: `${statusOf(status.conditions, 'Ready')} ${reasonOf(status.conditions, 'Ready')}`.trim(),
    boot: status.nodeInfo?.bootID ?? '',
    attached: status.volumesAttached
      .map(({ name }) => name)
      .toSorted()
      .join(' '),
    'in use': status.volumesInUse.toSorted().join(' '),
    record: phaseOf(metadata.annotations),
    label: metadata.labels[FENCED_LABEL] === undefined ? '' : 'of a fence',
  };
};

const endingOf = ({ deletionTimestamp, deletionGracePeriodSeconds }: z.infer<typeof metadata>): string =>
  deletionTimestamp == null ? '' : `within ${deletionGracePeriodSeconds ?? 0} s`;

const facetsOfPod = (written: unknown): Facets => {
  const { metadata, spec, status } = pod.parse(written);
  return {
    on: spec.nodeName,
    phase: status.phase,
    ready: statusOf(status.conditions, 'Ready'),
    disrupted: reasonOf(status.conditions, 'DisruptionTarget'),
    containers: status.containerStatuses.flatMap(({ state }) => Object.keys(state)).join(' '),
    ending: endingOf(metadata),
  };
};

const NODE_ID = 'csi.alpha.kubernetes.io/node-id';

/** The driver writes its own error messages. Only the existence of an error is compared. */
const facetsOfAttachment = (written: unknown): Facets => {
  const { metadata, status } = attachment.parse(written);
  return {
    attached: String(status.attached),
    ending: metadata.deletionTimestamp == null ? '' : 'yes',
    finalizers: metadata.finalizers.toSorted().join(' '),
    machine: metadata.annotations[NODE_ID] ?? '',
    nudged: metadata.annotations[NUDGE_ANNOTATION] === undefined ? '' : 'yes',
    'attach error': status.attachError ? 'yes' : '',
    'detach error': status.detachError ? 'yes' : '',
  };
};

const bareFacets: Readonly<Record<Watched, (written: unknown) => Facets>> = {
  nodes: facetsOfNode,
  pods: facetsOfPod,
  volumeattachments: facetsOfAttachment,
  csinodes: () => ({}),
};

/** Facets whose values differ from cluster to cluster. Only the fact that they changed is compared. */
export const UNIQUE: ReadonlySet<string> = new Set(['boot']);

export const facetsOf = (
  { kind, object }: { readonly kind: Watched; readonly object: unknown },
  participants: Participants,
): Facets =>
  Object.fromEntries(
    Object.entries(bareFacets[kind](object)).map(([facet, value]) => [facet, inStory(participants, value)]),
  );
