import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { faultsIn } from './conformity.ts';
import { discoveryFolder, schema, type DiscoveryDocument } from './document.ts';

/**
 * Google's own descriptions of its APIs, which .ci/install-google-discovery downloads, and calls checked against them.
 */

/** A call as it arrived, and its answer. */
export interface Exchange {
  /** The host that it was meant for, such as `https://iam.googleapis.com`. */
  readonly origin: string;
  readonly verb: string;
  readonly url: URL;
  readonly body: unknown;
  readonly reply: { readonly status: number; readonly body: unknown };
}

const parameter = z.object({
  type: z.string(),
  location: z.enum(['path', 'query']),
  required: z.boolean().default(false),
  repeated: z.boolean().default(false),
  pattern: z.string().optional(),
  enum: z.array(z.string()).optional(),
});
const method = z.object({
  id: z.string(),
  httpMethod: z.string(),
  path: z.string(),
  flatPath: z.string().optional(),
  parameters: z.record(z.string(), parameter).default({}),
  request: z.object({ $ref: z.string() }).optional(),
  response: z.object({ $ref: z.string() }).optional(),
});

type Method = z.infer<typeof method>;
type Parameter = z.infer<typeof parameter>;

interface Resources {
  readonly methods?: Readonly<Record<string, Method>> | undefined;
  readonly resources?: Readonly<Record<string, Resources>> | undefined;
}

const resources: z.ZodType<Resources> = z.lazy(() =>
  z.object({ methods: z.record(z.string(), method).optional(), resources: z.record(z.string(), resources).optional() }),
);
const described = z.object({
  rootUrl: z.url(),
  servicePath: z.string(),
  schemas: z.record(z.string(), schema),
  resources: z.record(z.string(), resources),
});

interface Described {
  readonly origin: string;
  readonly document: DiscoveryDocument;
  readonly method: Method;
}

const methodsOf = ({ methods = {}, resources: inner = {} }: Resources): readonly Method[] => [
  ...Object.values(methods),
  ...Object.values(inner).flatMap(methodsOf),
];

const methodsIn = (name: string): readonly Described[] => {
  const {
    rootUrl,
    servicePath,
    schemas,
    resources: all,
  } = described.parse(JSON.parse(readFileSync(path.join(discoveryFolder, `${name}.json`), 'utf8')));
  const document = { servicePath: '', schemas, resources: {} };
  return Object.values(all)
    .flatMap(methodsOf)
    .map(({ path: template, flatPath = template, ...one }) => ({
      origin: new URL(rootUrl).origin,
      document,
      method: { ...one, path: `${servicePath}${template}`, flatPath: `${servicePath}${flatPath}` },
    }));
};

/** A path pattern whose parts in braces match anything, or anything without a slash. */
const patternOf = (template: string): RegExp =>
  new RegExp(
    `^/${template
      .split(/(\{\+?\w+\})/)
      .map((part) =>
        part.startsWith('{+') ? '(.+)' : part.startsWith('{') ? '([^/]+)' : part.replaceAll('.', String.raw`\.`),
      )
      .join('')}$`,
  );

const namesIn = (template: string): readonly string[] =>
  [...template.matchAll(/\{\+?(\w+)\}/g)].map(([, name = '']) => name);

const isCalled = (
  { origin, method: { httpMethod, path: template, flatPath = template } }: Described,
  { origin: asked, verb, url }: Exchange,
): boolean => origin === asked && verb === httpMethod && patternOf(flatPath).test(decodeURIComponent(url.pathname));

/** What a path has to contain at least: `projects/p:getIamPolicy` is not a project of that name. */
const literal = ({ method: { path: template, flatPath = template } }: Described): number =>
  flatPath.replaceAll(/\{\w+\}/g, '').length;

const faultOf = ({ pattern, type, enum: allowed }: Parameter, value: string): string | null => {
  if (pattern !== undefined && !new RegExp(pattern).test(value)) return `does not match ${pattern}`;
  if (allowed && !allowed.includes(value)) return `is none of ${allowed.join(', ')}`;
  if (type === 'boolean') return ['true', 'false'].includes(value) ? null : 'is no boolean';
  return type === 'integer' && !/^-?\d+$/.test(value) ? 'is no integer' : null;
};

const inPath = ({ path: template }: Method, { url }: Exchange): readonly (readonly [string, string])[] => {
  const values = patternOf(template).exec(decodeURIComponent(url.pathname))?.slice(1) ?? [];
  return namesIn(template).map((name, at) => [name, values[at] ?? '']);
};

const faultsInParameters = (called: Method, call: Exchange): readonly string[] => {
  const { id, parameters } = called;
  const given = [...inPath(called, call), ...call.url.searchParams];
  const missing = Object.entries(parameters).flatMap(([name, { required }]) =>
    required && !given.some(([other]) => other === name) ? [`${id}: ${name} is missing`] : [],
  );
  const wrong = given.flatMap(([name, value]) => {
    const known = parameters[name];
    if (!known) return [`${id}: there is no parameter ${name}`];
    if (!known.repeated && given.filter(([other]) => other === name).length > 1)
      return [`${id}: ${name} is given twice`];
    const fault = faultOf(known, value);
    return fault === null ? [] : [`${id}: ${name} ${value} ${fault}`];
  });
  return [...missing, ...wrong];
};

const camel = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const mask = z.looseObject({ updateMask: z.string() });

/** A mask may only name fields of what is sent, which is the body itself or its one part. */
const faultsInMask = ({ document, method: { id, request } }: Described, { url, body }: Exchange): readonly string[] => {
  const own = request ? (document.schemas[request.$ref]?.properties ?? {}) : {};
  const inBody = mask.safeParse(body).data?.updateMask;
  const parts =
    inBody === undefined
      ? own
      : Object.assign(
          {},
          ...Object.values(own).map(({ $ref }) => ($ref === undefined ? {} : document.schemas[$ref]?.properties)),
        );
  const named = (inBody ?? url.searchParams.get('updateMask') ?? '').split(',').filter((one) => one !== '');
  return named.flatMap((field) =>
    camel(field.split('.')[0] ?? '') in parts ? [] : [`${id}: the mask names ${field}, and there is no such field`],
  );
};

/** A value in the path need not be in the body. */
const faultsInBody = (
  { document, method: { id, path: template, request } }: Described,
  { body }: Exchange,
): readonly string[] => {
  if (body === null) return request ? [`${id}: was sent no body`] : [];
  if (!request) return [`${id}: takes no body`];
  const said = namesIn(template).map((name) => `${id} request.${name}: is required`);
  return faultsIn(document, request, body, `${id} request`, 'sent').filter((fault) => !said.includes(fault));
};

/** https://cloud.google.com/apis/design/errors */
const problem = z.strictObject({
  error: z.strictObject({
    code: z.number(),
    message: z.string(),
    status: z
      .string()
      .regex(/^[A-Z_]+$/)
      .optional(),
    /** The API of Cloud Storage has this in place of the status. */
    errors: z.array(z.object({ message: z.string(), domain: z.string(), reason: z.string() })).optional(),
    details: z.array(z.looseObject({ '@type': z.string() })).optional(),
  }),
});

const faultsInReply = (
  { document, method: { id, response } }: Described,
  { reply: { status, body } }: Exchange,
): readonly string[] => {
  if (status === 200) return response ? faultsIn(document, response, body, `${id} response`) : [];
  return problem.safeParse(body).data?.error.code === status
    ? []
    : [`${id}: returned ${status} with an error of another form`];
};

export type Judge = (call: Exchange) => { readonly id: string; readonly faults: readonly string[] };

/** Returns which method a call uses, and what in the call and its answer does not match the document. */
export const permissionCheckOf = (names: readonly string[]): Judge => {
  const all = names.flatMap(methodsIn);
  return (call) => {
    const found = all.filter((one) => isCalled(one, call)).toSorted((a, b) => literal(b) - literal(a))[0];
    if (!found) return { id: '', faults: [`${call.verb} ${call.origin}${call.url.pathname}: there is no such method`] };
    return {
      id: found.method.id,
      faults: [
        ...faultsInParameters(found.method, call),
        ...faultsInMask(found, call),
        ...faultsInBody(found, call),
        ...faultsInReply(found, call),
      ],
    };
  };
};
