import { z } from 'zod';
import { wireCall, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { faultsIn } from './conformity.ts';
import type { DiscoveryDocument, Method } from './document.ts';

/** The parameters that every method accepts in addition to its own. */
const COMMON = new Set(['$alt', 'alt', 'fields', 'prettyPrint', '$prettyPrint', 'quotaUser', 'key']);

export interface CheckedCalls {
  readonly fetch: InProcessFetch;
  /** What did not match the document. */
  readonly faults: string[];
  /** The IDs of the methods that were called. */
  readonly called: Set<string>;
}

/** Forwards calls, and checks each call and its answer against the document. */
export const checkedCalls = (document: DiscoveryDocument, through: InProcessFetch): CheckedCalls => {
  const faults: string[] = [];
  const called = new Set<string>();
  const fetch: InProcessFetch = async (input, init) => {
    const { method: verb, url, body } = wireCall(input, init);
    const { pathname, searchParams } = new URL(url, 'http://any');
    const found = methodFor(document, verb, pathname);
    if (!found) faults.push(`${verb} ${pathname}: there is no such method`);
    else called.add(found.method.id);
    if (found) faults.push(...faultsInParameters(found, searchParams), ...faultsInBody(document, found.method, body));
    const response = await through(input, init);
    const answer: unknown = await response.clone().json();
    faults.push(...(response.ok ? faultsInAnswer(document, found, answer) : faultsInError(response.status, answer)));
    return response;
  };
  return { fetch, faults, called };
};

interface Found {
  readonly method: Method;
  /** The values of the parameters in the path. */
  readonly path: Readonly<Record<string, string>>;
}

const methodFor = (document: DiscoveryDocument, verb: string, pathname: string): Found | null => {
  const parts = pathname.replace(`/${document.servicePath}`, '').split('/');
  for (const method of Object.values(document.resources).flatMap((resource) => Object.values(resource.methods))) {
    const template = method.flatPath.split('/');
    if (method.httpMethod !== verb || template.length !== parts.length) continue;
    if (!template.every((part, at) => part.startsWith('{') || part === parts[at])) continue;
    const named = template.flatMap((part, at) =>
      part.startsWith('{') ? [[part.slice(1, -1), decodeURIComponent(parts[at] ?? '')]] : [],
    );
    return { method, path: Object.fromEntries(named) };
  }
  return null;
};

const faultsInParameters = ({ method, path }: Found, query: URLSearchParams): readonly string[] => {
  const given = { ...Object.fromEntries(query), ...path };
  const missing = Object.entries(method.parameters).flatMap(([name, { required }]) =>
    required && given[name] === undefined ? [`${method.id}: ${name} is missing`] : [],
  );
  const wrong = Object.entries(given).flatMap(([name, value]) => {
    const known = method.parameters[name];
    if (!known) return COMMON.has(name) ? [] : [`${method.id}: there is no parameter ${name}`];
    if (known.type === 'boolean' && !['true', 'false'].includes(value)) return [`${method.id}: ${name} is no boolean`];
    return known.pattern === undefined || new RegExp(`^(?:${known.pattern})$`).test(value)
      ? []
      : [`${method.id}: ${name} ${value} does not match ${known.pattern}`];
  });
  return [...missing, ...wrong];
};

/** The SDK sends an empty text if the method has no body. */
const faultsInBody = (document: DiscoveryDocument, { id, request }: Method, body: string): readonly string[] => {
  if (!request) return ['', '""'].includes(body) ? [] : [`${id}: takes no body, and was sent ${body}`];
  return faultsIn(document, request, JSON.parse(body), `${id} request`, 'sent');
};

const faultsInAnswer = (document: DiscoveryDocument, found: Found | null, answer: unknown): readonly string[] =>
  found?.method.response ? faultsIn(document, found.method.response, answer, `${found.method.id} response`) : [];

/**
 * The document has no schema for it.
 * https://cloud.google.com/compute/docs/api/troubleshooting
 */
const error = z.strictObject({
  error: z.strictObject({
    code: z.number(),
    message: z.string(),
    status: z.string().optional(),
    errors: z.array(z.strictObject({ message: z.string(), domain: z.string(), reason: z.string() })).min(1),
  }),
});

const faultsInError = (status: number, answer: unknown): readonly string[] => {
  const read = error.safeParse(answer);
  if (!read.success) return [`an error of another form: ${read.error.message}`];
  return read.data.error.code === status ? [] : [`an error of the status ${status} that says ${read.data.error.code}`];
};
