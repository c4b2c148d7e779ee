import type { EventObject, KubeObject, NodeObject, Resource, Resources, Taint } from '../objects.ts';
import type { Cause } from './status.ts';

/** The validation rules of Kubernetes that Cloudfence's writes can violate. */

const sameTaint = (one: Taint, other: Taint): boolean => one.key === other.key && one.effect === other.effect;

const doubleTaint = (taint: Taint, at: number): Cause => ({
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${JSON.stringify(taint)}: taints must be unique by key and effect pair`,
  field: `metadata.taints[${at}]`,
});

/** The most bytes of all keys and values of the annotations of an object. */
const ANNOTATION_BYTES = 256 * 1024;

const fullAnnotations = ({ metadata: { annotations = {} } }: Pick<KubeObject, 'metadata'>): readonly Cause[] => {
  const bytes = Object.entries(annotations).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0);
  const message = `Too long: may not be more than ${ANNOTATION_BYTES} bytes`;
  return bytes > ANNOTATION_BYTES ? [{ reason: 'FieldValueTooLong', message, field: 'metadata.annotations' }] : [];
};

const nodeFaults = (node: NodeObject): readonly Cause[] => {
  const taints = node.spec.taints ?? [];
  return taints.flatMap((taint, at) =>
    taints.slice(0, at).some((earlier) => sameTaint(earlier, taint)) ? [doubleTaint(taint, at)] : [],
  );
};

const required = (field: string, value: string | undefined): readonly Cause[] =>
  (value ?? '') === '' ? [{ reason: 'FieldValueRequired', message: 'Required value', field }] : [];

const tooLong = (field: string, value: string | undefined, most: number): readonly Cause[] =>
  Buffer.byteLength(value ?? '') > most
    ? [{ reason: 'FieldValueInvalid', message: `Invalid value: "": can have at most ${most} characters`, field }]
    : [];

const wrongNamespace = (event: EventObject): readonly Cause[] => {
  const wanted = event.regarding?.namespace ?? 'default';
  const fits = event.metadata.namespace === wanted;
  return fits
    ? []
    : [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: does not match event.namespace',
          field: 'regarding.namespace',
        },
      ];
};

const eventFaults = (event: EventObject): readonly Cause[] => [
  ...required('eventTime', event.eventTime),
  ...required('reportingController', event.reportingController),
  ...required('reportingInstance', event.reportingInstance),
  ...required('action', event.action),
  ...required('reason', event.reason),
  ...tooLong('reportingInstance', event.reportingInstance, 128),
  ...tooLong('note', event.note, 1024),
  ...wrongNamespace(event),
];

const isNode = (object: Pick<KubeObject, 'kind'>): object is NodeObject => object.kind === 'Node';
const isEvent = (object: Pick<KubeObject, 'kind'>): object is EventObject => object.kind === 'Event';

export const faultsOf = (object: Resources[Resource]): readonly Cause[] => {
  const faults = fullAnnotations(object);
  if (isNode(object)) return [...faults, ...nodeFaults(object)];
  if (isEvent(object)) return [...faults, ...eventFaults(object)];
  return faults;
};

/** Fields that an update must not change: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ */
export const faultsOfUpdate = (before: KubeObject, after: KubeObject): readonly Cause[] =>
  before.metadata.uid === after.metadata.uid
    ? []
    : [
        {
          reason: 'FieldValueInvalid',
          message: `Invalid value: "${after.metadata.uid}": field is immutable`,
          field: 'metadata.uid',
        },
      ];
