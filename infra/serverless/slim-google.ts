import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';
import { z } from 'zod';

/** The calls that providers/gcp makes, by service. Another one must be named here: without its description it cannot be sent. */
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

/** Classes of three more services, made by a generator; google-gax loads them to offer their clients, and makes its own calls without. */
const UNUSED_CLASSES = /google-gax[\\/]build[\\/]protos[\\/](?:iam_service|locations|operations)\.js$/;

const description = z.looseObject({ methods: z.record(z.string(), z.looseObject({})).optional() });
const version = z.looseObject({ nested: z.record(z.string(), description) });
const root = z.looseObject({
  nested: z.looseObject({
    google: z.looseObject({ nested: z.looseObject({ cloud: z.looseObject({ nested: z.looseObject({ compute: z.looseObject({ nested: z.looseObject({ v1: version }) }) }) }) }) }),
  }),
});

type Descriptions = z.infer<typeof version>['nested'];

/** Services with the calls that are made, and nothing else of theirs. @throws when a call has no description */
const services = (all: Descriptions): Descriptions =>
  Object.fromEntries(
    Object.entries(CALLS).map(([name, calls]) => {
      const service = all[name];
      const methods = Object.fromEntries(calls.map((call) => [call, service?.methods?.[call]]));
      if (!service || Object.values(methods).includes(undefined)) throw new Error(`the Compute Engine SDK does not describe ${name} with ${calls.join(', ')}: mend slim-google.ts`);
      return [name, description.parse({ ...service, methods })];
    }),
  );

/** What these send and answer with, and what that is made of: a description names its types as words. */
const reachedFrom = (all: Descriptions, begin: Descriptions): Descriptions => {
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
  compute.nested = { v1: { ...v1, nested: reachedFrom(v1.nested, services(v1.nested)) } };
  return JSON.stringify(whole);
};

/** The real client of Compute Engine in a tenth of its size: 4 MB of descriptions are of calls that nobody makes. */
export const slimGoogle: Plugin = {
  name: 'slim-google',
  setup: (build) => {
    build.onResolve({ filter: /^google-gax$/ }, ({ resolveDir }) => ({ path: 'rest-only', namespace: 'google-gax', pluginData: resolveDir }));
    build.onLoad({ filter: /^rest-only$/, namespace: 'google-gax' }, ({ pluginData }) => ({ contents: REST_ONLY, loader: 'js', resolveDir: String(pluginData) }));
    build.onLoad({ filter: UNUSED_CLASSES }, () => ({ contents: 'module.exports = {};', loader: 'js' }));
    build.onLoad({ filter: DESCRIPTIONS }, async ({ path }) => ({ contents: `module.exports = JSON.parse(${JSON.stringify(slimmed(await readFile(path, 'utf8')))});`, loader: 'js' }));
  },
};
