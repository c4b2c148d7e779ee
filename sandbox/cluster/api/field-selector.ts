import type { EventObject, KubeObject, NodeObject, PodObject, Resource } from '../objects.ts';

type FieldReader = (object: KubeObject) => string;

const meta: Readonly<Record<string, FieldReader>> = {
  'metadata.name': (object) => object.metadata.name,
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
};

const podFields = (pod: PodObject): Readonly<Record<string, string>> => ({
  'spec.nodeName': pod.spec.nodeName ?? '',
  'status.phase': pod.status.phase ?? '',
});

const nodeFields = (node: NodeObject): Readonly<Record<string, string>> => ({
  'spec.unschedulable': String(node.spec.unschedulable ?? false),
});

const isPod = (object: KubeObject): object is PodObject => object.kind === 'Pod';
const isEvent = (object: KubeObject): object is EventObject => object.kind === 'Event';
const isNode = (object: KubeObject): object is NodeObject => object.kind === 'Node';

const field =
  (name: string): FieldReader =>
  (object) => {
    const fields = isPod(object) ? podFields(object) : isNode(object) ? nodeFields(object) : {};
    return fields[name] ?? '';
  };

const ofEvent =
  (read: (event: EventObject) => string | undefined): FieldReader =>
  (object) =>
    isEvent(object) ? (read(object) ?? '') : '';

const eventFields: Readonly<Record<string, FieldReader>> = {
  reason: ofEvent(({ reason }) => reason),
  type: ofEvent(({ type }) => type),
  'regarding.kind': ofEvent(({ regarding }) => regarding?.kind),
  'regarding.name': ofEvent(({ regarding }) => regarding?.name),
  'regarding.namespace': ofEvent(({ regarding }) => regarding?.namespace),
  'regarding.uid': ofEvent(({ regarding }) => regarding?.uid),
};

const fieldReaders = (resource: Resource): Readonly<Record<string, FieldReader>> => {
  switch (resource) {
    case 'pods':
      return { ...meta, 'spec.nodeName': field('spec.nodeName'), 'status.phase': field('status.phase') };
    case 'events':
      return { ...meta, ...eventFields };
    case 'nodes':
      return { ...meta, 'spec.unschedulable': field('spec.unschedulable') };
    default:
      return meta;
  }
};

const unknownField = (resource: Resource, name: string): string =>
  resource === 'pods' || resource === 'nodes'
    ? `field label not supported: ${name}`
    : `"${name}" is not a known field selector: only "metadata.name", "metadata.namespace"`;

/** The selectable fields differ between kinds; the string describes an error in the selector. */
export const fieldTest = (resource: Resource, selector: string): ((object: KubeObject) => boolean) | string => {
  const known = fieldReaders(resource);
  const tests: ((object: KubeObject) => boolean)[] = [];
  for (const part of selector.split(',').filter((some) => some !== '')) {
    const [, name = '', operator, value] = /^([^=!]+)(==|=|!=)(.*)$/.exec(part) ?? [];
    if (operator === undefined) return `invalid selector: '${part}'; can't understand '${part}'`;
    const read = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!read) return unknownField(resource, name);
    tests.push((object) => (read(object) === value) === (operator !== '!='));
  }
  return (object) => tests.every((test) => test(object));
};
