import type { DiscoveryDocument, Schema } from './document.ts';

/** What of a JSON value the document's schema does not allow, each with its place. */
export const faultsIn = (document: DiscoveryDocument, schema: Schema, value: unknown, where: string): readonly string[] => {
  const { $ref } = schema;
  if ($ref !== undefined) {
    const named = document.schemas[$ref];
    return named ? faultsIn(document, named, value, where) : [`${where}: no schema is named ${$ref}`];
  }
  switch (schema.type) {
    case 'object':
      return faultsInObject(document, schema, value, where);
    case 'array':
      if (!Array.isArray(value)) return [`${where}: is no array`];
      return value.flatMap((item, index) => faultsIn(document, schema.items ?? {}, item, `${where}[${index}]`));
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

const faultsInObject = (document: DiscoveryDocument, { properties = {}, additionalProperties }: Schema, value: unknown, where: string): readonly string[] => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${where}: is no object`];
  return Object.entries(value).flatMap(([key, inner]) => {
    const schema = properties[key] ?? additionalProperties;
    return schema ? faultsIn(document, schema, inner, `${where}.${key}`) : [`${where}.${key}: there is no such field`];
  });
};

const UNSIGNED = /^(?:0|[1-9][0-9]{0,19})$/;
const SIGNED = /^-?[0-9]{1,19}$/;

/** 64-bit numbers are written as texts. */
const faultsInText = ({ format, pattern, enum: allowed }: Schema, value: unknown, where: string): readonly string[] => {
  if (typeof value !== 'string') return [`${where}: is no string`];
  if (allowed && !allowed.includes(value)) return [`${where}: ${value} is none of ${allowed.join(', ')}`];
  if (pattern !== undefined && !new RegExp(`^(?:${pattern})$`).test(value)) return [`${where}: ${value} does not match ${pattern}`];
  if (format === 'uint64' && !UNSIGNED.test(value)) return [`${where}: ${value} is no uint64`];
  return format === 'int64' && !SIGNED.test(value) ? [`${where}: ${value} is no int64`] : [];
};
