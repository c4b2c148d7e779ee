/**
 * kubectl writes some bodies in protobuf, and accepts every answer in JSON. This module reads those bodies:
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */

type Field = 'text' | 'texts' | 'number' | 'flag' | 'map' | Message;
/** The fields of a message by their number, with name and type. */
interface Message {
  readonly [number: number]: readonly [name: string, type: Field];
}

const deleteOptions: Message = {
  1: ['gracePeriodSeconds', 'number'],
  2: ['preconditions', { 1: ['uid', 'text'], 2: ['resourceVersion', 'text'] }],
  3: ['orphanDependents', 'flag'],
  4: ['propagationPolicy', 'text'],
  5: ['dryRun', 'texts'],
};

const resourceAttributes: Message = {
  1: ['namespace', 'text'],
  2: ['verb', 'text'],
  3: ['group', 'text'],
  4: ['version', 'text'],
  5: ['resource', 'text'],
  6: ['subresource', 'text'],
  7: ['name', 'text'],
};

const metadata: Message = { 1: ['name', 'text'], 3: ['namespace', 'text'], 11: ['labels', 'map'] };

const messages: Readonly<Record<string, Message>> = {
  DeleteOptions: deleteOptions,
  ConfigMap: { 1: ['metadata', metadata], 2: ['data', 'map'] },
  SelfSubjectAccessReview: {
    2: ['spec', { 1: ['resourceAttributes', resourceAttributes] }],
  },
};

/** The first bytes of a body. They are followed by the kind (1) and the message in bytes (2). */
const MAGIC = Buffer.from('k8s\0');
const typeMeta: Message = { 1: ['apiVersion', 'text'], 2: ['kind', 'text'] };

type Read = readonly [value: bigint, next: number];

const readNumber = (bytes: Buffer, from: number): Read => {
  let value = 0n;
  let at = from;
  for (let shift = 0n; at < bytes.length; shift += 7n) {
    const byte = bytes[at] ?? 0;
    at += 1;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return [value, at];
};

interface Part {
  readonly number: number;
  readonly value: bigint | Buffer;
}

/** Returns the parts of a message: numbers, and bytes with a length. Kubernetes uses no other wire types. */
const partsOf = (bytes: Buffer): readonly Part[] => {
  const parts: Part[] = [];
  for (let at = 0; at < bytes.length;) {
    const [tag, behindTag] = readNumber(bytes, at);
    const [value, next] = readNumber(bytes, behindTag);
    const end = next + Number(value);
    const isNumber = (tag & 7n) === 0n;
    parts.push({ number: Number(tag >> 3n), value: isNumber ? value : bytes.subarray(next, end) });
    at = isNumber ? next : end;
  }
  return parts;
};

const valueOf = (type: Field, value: bigint | Buffer): unknown => {
  if (typeof value === 'bigint') return type === 'flag' ? value !== 0n : Number(BigInt.asIntN(64, value));
  return typeof type === 'object' ? objectOf(type, value) : value.toString();
};

const ENTRY: Message = { 1: ['key', 'text'], 2: ['value', 'text'] };

/** Adds a value to a field: lists and maps arrive in several parts. */
const added = (type: Field, before: unknown, value: bigint | Buffer): unknown => {
  if (type === 'texts') return [before ?? [], valueOf('text', value)].flat();
  if (type !== 'map' || typeof value === 'bigint') return valueOf(type, value);
  const { key, value: text } = objectOf(ENTRY, value);
  return { ...(typeof before === 'object' ? before : {}), [String(key)]: text ?? '' };
};

const objectOf = (message: Message, bytes: Buffer): Readonly<Record<string, unknown>> => {
  const object: Record<string, unknown> = {};
  for (const { number, value } of partsOf(bytes)) {
    const [name, type] = message[number] ?? [];
    if (name === undefined || type === undefined) continue;
    object[name] = added(type, object[name], value);
  }
  return object;
};

/** Returns the body as JSON, or null if the sandbox does not support its kind. */
export const jsonOfProtobuf = (body: Buffer): string | null => {
  if (body.length === 0) return '';
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  const [type, raw] = [1, 2].map((wanted) => {
    const found = partsOf(body.subarray(MAGIC.length)).find(({ number }) => number === wanted)?.value;
    return typeof found === 'object' ? found : Buffer.alloc(0);
  });
  const named = objectOf(typeMeta, type ?? Buffer.alloc(0));
  const message = messages[String(named['kind'])];
  return message === undefined ? null : JSON.stringify({ ...named, ...objectOf(message, raw ?? Buffer.alloc(0)) });
};
