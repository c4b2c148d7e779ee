import { jsonOrText } from '../../../fencing/json-text.ts';

/**
 * A CloudEvent whose attributes came as headers and whose body is its data alone, as one document; any other body as it is.
 * https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/http-protocol-binding.md
 */
export const structured = (headers: Readonly<Record<string, string | undefined>>, body: string): string => {
  const { 'ce-specversion': specversion, 'ce-type': type } = headers;
  if (specversion === undefined || type === undefined) return body;
  const attributes = Object.entries(headers).flatMap(([name, value]) => (name.startsWith('ce-') && value !== undefined ? [[name.slice(3), decoded(value)]] : []));
  return JSON.stringify({ ...Object.fromEntries(attributes), data: jsonOrText(body) });
};

/** Values are percent-encoded; one that is not stands for itself. */
const decoded = (value: string): string => {
  try {
    return decodeURIComponent(value);
  } catch (error) {
    if (error instanceof URIError) return value;
    throw error;
  }
};
