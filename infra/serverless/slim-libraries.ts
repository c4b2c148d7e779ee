import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile, Plugin } from 'esbuild';
import { z } from 'zod';
import { slimZod } from './slim-zod.ts';

/** The files with the schemas from which the AWS SDK's clients are generated. */
const SCHEMAS = /@aws-sdk[\\/](?:client-|nested-clients)[^\\/]*[\\/](?:.*[\\/])?schemas[\\/]schemas_\d+\.js$/;
const DECLARATION = /^((?:export )?var \w+\$? = )(\[[^;]*?\]);$/gm;

/**
 * Removes schemas of unused calls from the AWS SDK. A schema's computed keys (`{ [_id]: … }`) look like side effects,
 * so a bundler keeps the schemas of unused calls. This plugin marks them as free of side effects.
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

/** The calls that providers/gcp makes, by service. List a new call here: it cannot be sent without its description. */
export const GOOGLE_CALLS: Readonly<Record<string, readonly string[]>> = {
  Instances: ['Get', 'DetachDisk', 'Start', 'Stop', 'TestIamPermissions'],
  Disks: ['Get', 'TestIamPermissions'],
  RegionDisks: ['Get', 'TestIamPermissions'],
  ZoneOperations: ['Wait'],
};

const DESCRIPTIONS = /@google-cloud[\\/]compute[\\/]build[\\/]protos[\\/]protos\.json$/;

/**
 * The part of google-gax that uses REST. The whole library includes gRPC, which Cloudfence never uses. Apart from REST,
 * the client needs the library only for logging, and for decoding the details of an error, which Cloudfence does not
 * read.
 */
const REST_ONLY = `
const fallback = require('google-gax/fallback');
module.exports = { ...fallback, fallback, loggingUtils: require('google-logging-utils'), decodeAnyProtosInArray: (details) => details };
`;

/**
 * Generated classes of three more services. google-gax loads them to offer their clients, and makes its own calls
 * without them.
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

/**
 * Returns the services with only the calls that Cloudfence makes.
 * @throws if a call has no description
 */
const services = (all: Descriptions): Descriptions =>
  Object.fromEntries(
    Object.entries(GOOGLE_CALLS).map(([name, calls]) => {
      const service = all[name];
      const methods = Object.fromEntries(calls.map((call) => [call, service?.methods?.[call]]));
      if (!service || Object.values(methods).includes(undefined))
        throw new Error(
          `the Compute Engine SDK does not describe ${name} with ${calls.join(', ')}: update slim-libraries.ts`,
        );
      return [name, description.parse({ ...service, methods })];
    }),
  );

/** Adds the types of requests and answers, and the types that they contain. A description names its types as words. */
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

/** Keeps the SDK's descriptions except those of other calls and other versions. Google's common types stay complete. */
const slimmed = (text: string): string => {
  const whole = root.parse(JSON.parse(text));
  const { compute } = whole.nested.google.nested.cloud.nested;
  const { v1 } = compute.nested;
  compute.nested = { v1: { ...v1, nested: servicesReachedFrom(v1.nested, services(v1.nested)) } };
  return JSON.stringify(whole);
};

/** The real client of Compute Engine at a tenth of its size: 4 MB of its descriptions are of unused calls. */
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

/** The calls that providers/azure makes, by service. List a new call here: a bundle has no others. */
export const AZURE_CALLS: Readonly<Record<string, readonly string[]>> = {
  disks: ['get'],
  virtualMachines: ['get', 'attachDetachDataDisks', 'powerOff', 'start'],
  virtualMachineScaleSetVMs: ['get', 'list', 'attachDetachDataDisks', 'powerOff', 'start'],
  virtualMachineScaleSets: ['get'],
};

const COMPUTE = String.raw`@azure[\\/]arm-compute[\\/]dist[\\/]esm[\\/]`;
const COMPUTE_CLIENT = new RegExp(String.raw`${COMPUTE}computeManagementClient\.js$`);
const COMPUTE_SERVICE = new RegExp(
  String.raw`${COMPUTE}classic[\\/](?<service>${Object.keys(AZURE_CALLS).join('|')})[\\/]index\.js$`,
);
/** The line of the client that makes the calls of one service available. */
const SERVICE_LINE = /^ *this\.(?<service>\w+) = _get\w+\(this\._client\);$/;

const serviceOf = (line: string): string | null => SERVICE_LINE.exec(line)?.groups?.['service'] ?? null;

/** Matches all calls of a service in the SDK's form. */
const ALL_CALLS = /(?<=\n {4}return \{\n)(?<calls> {8}\w+: [\s\S]*?\n)(?= {4}\};)/;

/**
 * Returns the text of a service with only these calls.
 * @throws if one of them is missing
 */
const withCalls = (text: string, service: string, calls: readonly string[]): string => {
  const kept = calls.map((call) => new RegExp(String.raw`^ {8}${call}: \(.*\) => .*,$`, 'm').exec(text)?.[0]);
  if (kept.includes(undefined) || !ALL_CALLS.test(text))
    throw new Error(`the Compute SDK has no ${service} with ${calls.join(', ')}: update slim-libraries.ts`);
  return text.replace(ALL_CALLS, `${kept.join('\n')}\n`);
};

/** The real client of Azure's Compute at a third of its size: it has fifty services, with some hundred calls. */
const slimAzure: Plugin = {
  name: 'slim-azure',
  setup: (build) => {
    build.onLoad({ filter: COMPUTE_CLIENT }, async ({ path: file }) => {
      const lines = (await readFile(file, 'utf8')).split('\n');
      const kept = lines.filter(
        (line) => serviceOf(line) === null || Object.hasOwn(AZURE_CALLS, serviceOf(line) ?? ''),
      );
      return { contents: kept.join('\n'), loader: 'js' };
    });
    build.onLoad({ filter: COMPUTE_SERVICE }, async ({ path: file }) => {
      const service = COMPUTE_SERVICE.exec(file)?.groups?.['service'] ?? '';
      const contents = withCalls(await readFile(file, 'utf8'), service, AZURE_CALLS[service] ?? []);
      return { contents, loader: 'js' };
    });
  },
};

/** The API classes that kubernetes/ uses. List a new class here: until then, the build of the bundle fails. */
const APIS: readonly string[] = [
  'AppsV1Api',
  'AuthorizationV1Api',
  'BatchV1Api',
  'CoordinationV1Api',
  'CoreV1Api',
  'CustomObjectsApi',
  'EventsV1Api',
  'StorageV1Api',
  'VersionApi',
];

const GENERATED = String.raw`@kubernetes[\\/]client-node[\\/]dist[\\/]gen[\\/]`;
const SERIALIZER = new RegExp(String.raw`${GENERATED}models[\\/]ObjectSerializer\.js$`);
const ALL_MODELS = new RegExp(String.raw`${GENERATED}models[\\/]all\.js$`);
const API = new RegExp(String.raw`${GENERATED}apis[\\/](?<api>\w+Api)\.js$`);

/**
 * Matches each line of the serializer that is about one model: its import, its export, and its entry in the table of
 * types.
 */
const MODEL_LINE =
  /^(?:(?:import \{ \w+ \} from|export \* from) '\.\.\/models\/(?<module>\w+)\.js';| {4}"(?<entry>\w+)": \w+,)$/;

const modelOf = (line: string): string | null => {
  const { module, entry } = MODEL_LINE.exec(line)?.groups ?? {};
  return module ?? entry ?? null;
};

/**
 * Returns the models of these APIs' requests and answers, and the models that they contain. A file names its types as
 * words.
 */
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

/**
 * Returns the serializer without unused models.
 * @throws if it leaves out nothing: the generated client then has a form that this file does not know
 */
const slimSerializer = async (file: string): Promise<string> => {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const known = new Set(lines.flatMap((line) => modelOf(line) ?? []));
  const reached = await modelsReachedFrom(path.dirname(file), known);
  if (reached.size === 0 || reached.size === known.size)
    throw new Error(`${file} cannot be reduced: ${reached.size} of its ${known.size} models are used`);
  return lines.filter((line) => reached.has(modelOf(line) ?? '') || modelOf(line) === null).join('\n');
};

const unnamedApis = ({ outputs }: Metafile): readonly string[] => {
  const parts = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  return parts
    .flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? (API.exec(file)?.groups?.['api'] ?? []) : []))
    .filter((api) => !APIS.includes(api));
};

/**
 * Keeps the complete models of the APIs that Cloudfence uses, and no others. The client loads all models of Kubernetes
 * at once, and passes on a type that is missing from its table without reading it. No code takes a model by its class,
 * so the index of models is empty.
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
        text: `${api} is bundled without its models: add it to APIS in slim-libraries.ts`,
      })),
    }));
  },
};

const NONE = `
const absent = () => { throw new Error('the bundle does not contain undici: kubernetes/exchange.ts sends the requests'); };
export { absent as fetch, absent as Agent, absent as ProxyAgent };
`;

/**
 * Leaves out undici. The Kubernetes client imports it for its own way to send requests, which Cloudfence does not use:
 * half a megabyte of code, loaded for nothing.
 */
const withoutUndici: Plugin = {
  name: 'without-undici',
  setup: (build) => {
    build.onResolve({ filter: /^undici$/ }, () => ({ path: 'none', namespace: 'undici' }));
    build.onLoad({ filter: /^none$/, namespace: 'undici' }, () => ({ contents: NONE, loader: 'js' }));
  },
};

/**
 * Leaves out a polyfill of web streams. The library that sends Google's requests contains it for platforms without such
 * streams. Node has them.
 */
const withoutPolyfill: Plugin = {
  name: 'without-polyfill',
  setup: (build) => {
    build.onLoad({ filter: /web-streams-polyfill[\\/]dist[\\/][\w.]+\.js$/ }, () => ({
      contents: 'module.exports = {};',
      loader: 'js',
    }));
  },
};

/** Plugins that leave out unused code of libraries: calls, models, and languages that Cloudfence never uses. */
export const slimLibraries: Plugin[] = [
  slimAmazon,
  slimAzure,
  slimGoogle,
  slimKubernetes,
  slimZod,
  withoutPolyfill,
  withoutUndici,
];
