import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile, Plugin } from 'esbuild';
import { z } from 'zod';

/** The lists of schemas that the AWS SDK's clients are generated from. */
const SCHEMAS = /@aws-sdk[\\/](?:client-|nested-clients)[^\\/]*[\\/](?:.*[\\/])?schemas[\\/]schemas_\d+\.js$/;
const DECLARATION = /^((?:export )?var \w+\$? = )(\[[^;]*?\]);$/gm;

/**
 * A schema's computed keys (`{ [_id]: … }`) look like side effects, so a bundler keeps the schemas of calls that nobody
 * makes. This says that they have none.
 */
const slimAmazon: Plugin = {
  name: 'slim-amazon',
  setup: (build) => {
    build.onLoad({ filter: SCHEMAS }, async ({ path }) => ({
      loader: 'js',
      contents: (await readFile(path, 'utf8')).replaceAll(DECLARATION, '$1/* @__PURE__ */ (() => $2)();'),
    }));
  },
};

/**
 * The calls that providers/gcp makes, by service. Another one must be named here: without its description it cannot be
 * sent.
 */
export const CALLS: Readonly<Record<string, readonly string[]>> = {
  Instances: ['Get', 'DetachDisk', 'Stop', 'TestIamPermissions'],
  Disks: ['Get', 'TestIamPermissions'],
  RegionDisks: ['Get', 'TestIamPermissions'],
  ZoneOperations: ['Wait'],
};

const DESCRIPTIONS = /@google-cloud[\\/]compute[\\/]build[\\/]protos[\\/]protos\.json$/;

/**
 * The part of google-gax that speaks REST. The whole of it brings gRPC along, which nothing of ours ever speaks, and is
 * asked for beside only for its logging, and to decode an error's details, which nothing of ours reads.
 */
const REST_ONLY = `
const fallback = require('google-gax/fallback');
module.exports = { ...fallback, fallback, loggingUtils: require('google-logging-utils'), decodeAnyProtosInArray: (details) => details };
`;

/**
 * Classes of three more services, made by a generator; google-gax loads them to offer their clients, and makes its own
 * calls without.
 */
const UNUSED_CLASSES = /google-gax[\\/]build[\\/]protos[\\/](?:iam_service|locations|operations)\.js$/;

const description = z.looseObject({ methods: z.record(z.string(), z.looseObject({})).optional() });
const version = z.looseObject({ nested: z.record(z.string(), description) });
const root = z.looseObject({
  nested: z.looseObject({
    google: z.looseObject({
      nested: z.looseObject({
        cloud: z.looseObject({
          nested: z.looseObject({ compute: z.looseObject({ nested: z.looseObject({ v1: version }) }) }),
        }),
      }),
    }),
  }),
});

type Descriptions = z.infer<typeof version>['nested'];

/** Services with the calls that are made, and nothing else of theirs. @throws when a call has no description */
const services = (all: Descriptions): Descriptions =>
  Object.fromEntries(
    Object.entries(CALLS).map(([name, calls]) => {
      const service = all[name];
      const methods = Object.fromEntries(calls.map((call) => [call, service?.methods?.[call]]));
      if (!service || Object.values(methods).includes(undefined))
        throw new Error(
          `the Compute Engine SDK does not describe ${name} with ${calls.join(', ')}: correct slim-libraries.ts`,
        );
      return [name, description.parse({ ...service, methods })];
    }),
  );

/** What these send and answer with, and what that is made of: a description names its types as words. */
const servicesReachedFrom = (all: Descriptions, begin: Descriptions): Descriptions => {
  const reached = new Map(Object.entries(begin));
  const visit = (one: Descriptions[string]): void => {
    for (const [word] of JSON.stringify(one).matchAll(/\w+/g)) {
      const found = all[word];
      if (!found || found.methods || reached.has(word)) continue;
      reached.set(word, found);
      visit(found);
    }
  };
  Object.values(begin).forEach(visit);
  return Object.fromEntries(reached);
};

/** All of the SDK's descriptions but those of other calls and other versions; Google's common types stay whole. */
const slimmed = (text: string): string => {
  const whole = root.parse(JSON.parse(text));
  const { compute } = whole.nested.google.nested.cloud.nested;
  const { v1 } = compute.nested;
  compute.nested = { v1: { ...v1, nested: servicesReachedFrom(v1.nested, services(v1.nested)) } };
  return JSON.stringify(whole);
};

/** The real client of Compute Engine in a tenth of its size: 4 MB of descriptions are of calls that nobody makes. */
const slimGoogle: Plugin = {
  name: 'slim-google',
  setup: (build) => {
    build.onResolve({ filter: /^google-gax$/ }, ({ resolveDir }) => ({
      path: 'rest-only',
      namespace: 'google-gax',
      pluginData: resolveDir,
    }));
    build.onLoad({ filter: /^rest-only$/, namespace: 'google-gax' }, ({ pluginData }) => ({
      contents: REST_ONLY,
      loader: 'js',
      resolveDir: String(pluginData),
    }));
    build.onLoad({ filter: UNUSED_CLASSES }, () => ({ contents: 'module.exports = {};', loader: 'js' }));
    build.onLoad({ filter: DESCRIPTIONS }, async ({ path }) => ({
      contents: `module.exports = JSON.parse(${JSON.stringify(slimmed(await readFile(path, 'utf8')))});`,
      loader: 'js',
    }));
  },
};

/** The API classes that kubernetes/ uses. Another one must be named here, and the bundle is refused until it is. */
const APIS: readonly string[] = [
  'AuthorizationV1Api',
  'CoordinationV1Api',
  'CoreV1Api',
  'EventsV1Api',
  'StorageV1Api',
  'VersionApi',
];

const GENERATED = String.raw`@kubernetes[\\/]client-node[\\/]dist[\\/]gen[\\/]`;
const SERIALIZER = new RegExp(String.raw`${GENERATED}models[\\/]ObjectSerializer\.js$`);
const ALL_MODELS = new RegExp(String.raw`${GENERATED}models[\\/]all\.js$`);
const API = new RegExp(String.raw`${GENERATED}apis[\\/](?<api>\w+Api)\.js$`);

/** Each line of the serializer that is about one model: its import, its export and its entry in the table of types. */
const MODEL_LINE =
  /^(?:(?:import \{ \w+ \} from|export \* from) '\.\.\/models\/(?<module>\w+)\.js';| {4}"(?<entry>\w+)": \w+,)$/;

const modelOf = (line: string): string | null => {
  const { module, entry } = MODEL_LINE.exec(line)?.groups ?? {};
  return module ?? entry ?? null;
};

/** The models that these APIs send or answer with, and those that they are made of: a file names its types as words. */
const modelsReachedFrom = async (models: string, known: ReadonlySet<string>): Promise<ReadonlySet<string>> => {
  const reached = new Set<string>();
  const visit = async (file: string): Promise<void> => {
    const words = (await readFile(file, 'utf8')).match(/\w+/g) ?? [];
    for (const word of words) {
      if (!known.has(word) || reached.has(word)) continue;
      reached.add(word);
      await visit(path.join(models, `${word}.js`));
    }
  };
  for (const api of APIS) await visit(path.join(models, '../apis', `${api}.js`));
  return reached;
};

/** @throws when nothing was left out: then the client is generated in another shape than this file knows. */
const slimSerializer = async (file: string): Promise<string> => {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const known = new Set(lines.flatMap((line) => modelOf(line) ?? []));
  const reached = await modelsReachedFrom(path.dirname(file), known);
  if (reached.size === 0 || reached.size === known.size)
    throw new Error(`${file} cannot be slimmed: ${reached.size} of its ${known.size} models are used`);
  return lines.filter((line) => reached.has(modelOf(line) ?? '') || modelOf(line) === null).join('\n');
};

const unnamedApis = ({ outputs }: Metafile): readonly string[] => {
  const parts = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  return parts
    .flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? (API.exec(file)?.groups?.['api'] ?? []) : []))
    .filter((api) => !APIS.includes(api));
};

/**
 * The models of the APIs that we use, whole, and no others: the client loads all of Kubernetes' at once, and a type
 * that is missing from its table is handed through unread. Nothing of ours takes a model by its class, so their index
 * is empty.
 */
const slimKubernetes: Plugin = {
  name: 'slim-kubernetes',
  setup: (build) => {
    build.initialOptions.metafile = true;
    build.onLoad({ filter: ALL_MODELS }, () => ({ contents: 'export {};', loader: 'js' }));
    build.onLoad({ filter: SERIALIZER }, async ({ path: file }) => ({
      contents: await slimSerializer(file),
      loader: 'js',
    }));
    build.onEnd(({ metafile }) => ({
      errors: (metafile ? unnamedApis(metafile) : []).map((api) => ({
        text: `${api} is bundled without its models: name it in slim-kubernetes.ts`,
      })),
    }));
  },
};

/** Zod's messages in English only: it carries fifty languages, and its index names them all. */
const slimZod: Plugin = {
  name: 'slim-zod',
  setup: (build) => {
    build.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, ({ path: file }) => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
      resolveDir: path.dirname(file),
    }));
  },
};

const NONE = `
const absent = () => { throw new Error('the bundle is without undici: kubernetes/exchange.ts sends the requests'); };
export { absent as fetch, absent as Agent, absent as ProxyAgent };
`;

/**
 * The Kubernetes client names undici for a way of its own, which we do not take: half a megabyte of code, loaded for
 * nothing.
 */
const withoutUndici: Plugin = {
  name: 'without-undici',
  setup: (build) => {
    build.onResolve({ filter: /^undici$/ }, () => ({ path: 'none', namespace: 'undici' }));
    build.onLoad({ filter: /^none$/, namespace: 'undici' }, () => ({ contents: NONE, loader: 'js' }));
  },
};

/** What a bundle leaves out of the libraries: code for calls, models and languages that nothing of ours ever uses. */
export const slimLibraries: Plugin[] = [slimAmazon, slimGoogle, slimKubernetes, slimZod, withoutUndici];
