import type { DiscoveryDocument, Schema } from './document.ts';

/** Whether a value is checked as the request of a client or as the answer of the API. */
export type Way = 'sent' | 'answered';

/** Returns the parts of a JSON value that the schema of the document does not allow, each with its place. */
export const faultsIn = (
  document: DiscoveryDocument,
  schema: Schema,
  value: unknown,
  where: string,
  way: Way = 'answered',
): readonly string[] => {
  const { $ref } = schema;
  if ($ref !== undefined) {
    const named = document.schemas[$ref];
    return named ? faultsIn(document, named, value, where, way) : [`${where}: no schema is named ${$ref}`];
  }
  switch (schema.type) {
    case 'object':
      return faultsInObject(document, schema, value, where, way);
    case 'array':
      if (!Array.isArray(value)) return [`${where}: is no array`];
      return value.flatMap((item, index) => faultsIn(document, schema.items ?? {}, item, `${where}[${index}]`, way));
    case 'string':
      return faultsInText(schema, value, where);
    case 'integer':
      return Number.isSafeInteger(value) ? [] : [`${where}: is no integer`];
    case 'number':
      return typeof value === 'number' ? [] : [`${where}: is no number`];
    case 'boolean':
      return typeof value === 'boolean' ? [] : [`${where}: is no boolean`];
    default:
      return schema.type === 'any' ? [] : [`${where}: of the unknown type ${schema.type}`];
  }
};

const isRequired = ({ description = '', readOnly = false }: Schema): boolean =>
  !readOnly && /^(?:Required\.|REQUIRED:)/.test(description);

const faultsInObject = (
  document: DiscoveryDocument,
  { properties = {}, additionalProperties }: Schema,
  value: unknown,
  where: string,
  way: Way,
): readonly string[] => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${where}: is no object`];
  const missing = Object.entries(properties).flatMap(([key, schema]) =>
    way === 'sent' && isRequired(schema) && !(key in value) ? [`${where}.${key}: is required`] : [],
  );
  const wrong = Object.entries(value).flatMap(([key, inner]) => {
    const schema = properties[key] ?? additionalProperties;
    if (!schema) return [`${where}.${key}: there is no such field`];
    if (way === 'sent' && schema.readOnly) return [`${where}.${key}: is never sent, only answered`];
    return faultsIn(document, schema, inner, `${where}.${key}`, way);
  });
  return [...missing, ...wrong];
};

const UNSIGNED = /^(?:0|[1-9][0-9]{0,19})$/;
const DURATION = /^-?\d+(?:\.\d{1,9})?s$/;
const SIGNED = /^-?[0-9]{1,19}$/;

/** 64-bit numbers are written as strings. */
const faultsInText = ({ format, pattern, enum: allowed }: Schema, value: unknown, where: string): readonly string[] => {
  if (typeof value !== 'string') return [`${where}: is no string`];
  if (allowed && !allowed.includes(value)) return [`${where}: ${value} is none of ${allowed.join(', ')}`];
  if (pattern !== undefined && !new RegExp(`^(?:${pattern})$`).test(value))
    return [`${where}: ${value} does not match ${pattern}`];
  if (format === 'google-duration' && !DURATION.test(value)) return [`${where}: ${value} is no duration`];
  if (format === 'uint64' && !UNSIGNED.test(value)) return [`${where}: ${value} is no uint64`];
  return format === 'int64' && !SIGNED.test(value) ? [`${where}: ${value} is no int64`] : [];
};
