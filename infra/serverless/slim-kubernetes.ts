import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile, Plugin } from 'esbuild';

/** The API classes that kubernetes/ uses. Another one must be named here, and the bundle is refused until it is. */
const APIS: readonly string[] = ['AuthorizationV1Api', 'CoordinationV1Api', 'CoreV1Api', 'EventsV1Api', 'StorageV1Api', 'VersionApi'];

const GENERATED = String.raw`@kubernetes[\\/]client-node[\\/]dist[\\/]gen[\\/]`;
const SERIALIZER = new RegExp(String.raw`${GENERATED}models[\\/]ObjectSerializer\.js$`);
const ALL_MODELS = new RegExp(String.raw`${GENERATED}models[\\/]all\.js$`);
const API = new RegExp(String.raw`${GENERATED}apis[\\/](?<api>\w+Api)\.js$`);

/** Each line of the serializer that is about one model: its import, its export and its entry in the table of types. */
const MODEL_LINE = /^(?:(?:import \{ \w+ \} from|export \* from) '\.\.\/models\/(?<module>\w+)\.js';| {4}"(?<entry>\w+)": \w+,)$/;

const modelOf = (line: string): string | null => {
  const { module, entry } = MODEL_LINE.exec(line)?.groups ?? {};
  return module ?? entry ?? null;
};

/** The models that these APIs send or answer with, and those that they are made of: a file names its types as words. */
const reachedFrom = async (models: string, known: ReadonlySet<string>): Promise<ReadonlySet<string>> => {
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
  const reached = await reachedFrom(path.dirname(file), known);
  if (reached.size === 0 || reached.size === known.size) throw new Error(`${file} cannot be slimmed: ${reached.size} of its ${known.size} models are used`);
  return lines.filter((line) => reached.has(modelOf(line) ?? '') || modelOf(line) === null).join('\n');
};

const unnamedApis = ({ outputs }: Metafile): readonly string[] => {
  const parts = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  return parts.flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? (API.exec(file)?.groups?.['api'] ?? []) : [])).filter((api) => !APIS.includes(api));
};

/**
 * The models of the APIs that we use, whole, and no others: the client loads all of Kubernetes' at once, and a type that is
 * missing from its table is handed through unread. Nothing of ours takes a model by its class, so their index is empty.
 */
export const slimKubernetes: Plugin = {
  name: 'slim-kubernetes',
  setup: (build) => {
    build.initialOptions.metafile = true;
    build.onLoad({ filter: ALL_MODELS }, () => ({ contents: 'export {};', loader: 'js' }));
    build.onLoad({ filter: SERIALIZER }, async ({ path: file }) => ({ contents: await slimSerializer(file), loader: 'js' }));
    build.onEnd(({ metafile }) => ({
      errors: (metafile ? unnamedApis(metafile) : []).map((api) => ({ text: `${api} is bundled without its models: name it in slim-kubernetes.ts` })),
    }));
  },
};
