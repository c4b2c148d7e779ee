import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { faultsIn } from '../../contract/discovery/conformity.ts';
import { discoveryFolder, schema, type DiscoveryDocument } from '../../contract/discovery/document.ts';
import type { Recorded } from './management.ts';

/** Google's own descriptions of the management APIs, which .ci/install-google-discovery fetches. */

const method = z.object({
  id: z.string(),
  httpMethod: z.string(),
  flatPath: z.string(),
  parameters: z.record(z.string(), z.object({ location: z.enum(['path', 'query']) })).default({}),
  request: z.object({ $ref: z.string() }).optional(),
  response: z.object({ $ref: z.string() }).optional(),
});

interface Resources {
  readonly methods?: Readonly<Record<string, z.infer<typeof method>>> | undefined;
  readonly resources?: Readonly<Record<string, Resources>> | undefined;
}

const resources: z.ZodType<Resources> = z.lazy(() => z.object({ methods: z.record(z.string(), method).optional(), resources: z.record(z.string(), resources).optional() }));
const described = z.object({ schemas: z.record(z.string(), schema), resources: z.record(z.string(), resources) });

interface Described {
  readonly document: DiscoveryDocument;
  readonly method: z.infer<typeof method>;
}

const methodsOf = ({ methods = {}, resources: inner = {} }: Resources): readonly z.infer<typeof method>[] => [...Object.values(methods), ...Object.values(inner).flatMap(methodsOf)];

const methodsIn = (name: string): readonly Described[] => {
  const { schemas, resources: all } = described.parse(JSON.parse(readFileSync(path.join(discoveryFolder, name), 'utf8')));
  return Object.values(all).flatMap(methodsOf).map((one) => ({ method: one, document: { servicePath: '', schemas, resources: {} } }));
};

const documents = ['cloudfunctions.v2', 'cloudresourcemanager.v1', 'cloudscheduler.v1', 'iam.v1', 'logging.v2', 'monitoring.v3', 'pubsub.v1', 'run.v2', 'secretmanager.v1', 'serviceusage.v1'];
const all = documents.flatMap((name) => methodsIn(`${name}.json`));

const isCalled = ({ method: { httpMethod, flatPath } }: Described, { verb, url }: Recorded): boolean =>
  verb === httpMethod && new RegExp(`^/${flatPath.split(/\{\w+\}/).map((part) => part.replaceAll('.', '\\.')).join('[^/]+')}$`).test(url.pathname);

/** The least that a path may hold: `projects/p:getIamPolicy` is no project named so. */
const closest = (found: readonly Described[]): Described | null => found.toSorted((a, b) => b.method.flatPath.replaceAll(/\{\w+\}/g, '').length - a.method.flatPath.replaceAll(/\{\w+\}/g, '').length)[0] ?? null;

/** Which method it is, and what of the call and its answer is not as the document has it. */
export const judged = (call: Recorded): { readonly id: string; readonly faults: readonly string[] } => {
  const found = closest(all.filter((one) => isCalled(one, call)));
  if (!found) return { id: '', faults: [`${call.verb} ${call.url.pathname}: there is no such method`] };
  const { document, method: { id, parameters, request, response } } = found;
  const unknown = [...call.url.searchParams.keys()].filter((name) => parameters[name]?.location !== 'query');
  return {
    id,
    faults: [
      ...unknown.map((name) => `${id}: there is no parameter ${name}`),
      ...(call.body === null ? [] : request ? faultsIn(document, request, call.body, `${id} request`) : [`${id}: takes no body`]),
      ...(call.reply.status === 200 && response ? faultsIn(document, response, call.reply.body, `${id} response`) : []),
    ],
  };
};
