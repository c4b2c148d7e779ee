import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { PackagedFunction, Say } from '../serverless/deployer.ts';
import type { Api } from './api.ts';
import { covers, found } from './ensure.ts';
import { environmentOf, type Install } from './install.ts';
import { finished } from './operation.ts';

/** https://cloud.google.com/functions/docs/reference/rest/v2/projects.locations.functions */
const deployed = z.looseObject({
  state: z.string().default('UNKNOWN'),
  url: z.string().optional(),
  serviceConfig: z.looseObject({ uri: z.string().optional() }).default({}),
  labels: z.record(z.string(), z.string()).default({}),
});

export type DeployedFunction = z.infer<typeof deployed>;

/** A label has at most 63 characters. */
const SOURCE = 'cloudfence-source';
const digestOf = (zip: Buffer): string => createHash('sha256').update(zip).digest('hex').slice(0, 32);

const descriptions: Readonly<Record<string, string>> = {
  'on-event': 'Looks at the machines that events name, and fences those that are off',
  sweep: 'Finds what no event told',
  replay: 'Takes an event by hand, as if it had just arrived',
  fence: 'Looks at one machine by hand, and fences it if it is off',
  doctor: 'Says whether a fence would work from inside here',
};

const wantedOf = (install: Install, { name, zip }: PackagedFunction) => {
  const { parameters, names } = install;
  return {
    name: names.function(name),
    description: descriptions[name] ?? name,
    environment: 'GEN_2',
    labels: { [SOURCE]: digestOf(zip) },
    buildConfig: { runtime: parameters.runtime, entryPoint: 'handler' },
    serviceConfig: {
      serviceAccountEmail: names.runner,
      environmentVariables: environmentOf(install, name),
      availableMemory: `${parameters.memory}M`,
      availableCpu: String(parameters.cpu),
      timeoutSeconds: parameters.timeout / 1_000,
      maxInstanceCount: name === 'on-event' ? parameters.maximumInstances : 1,
      // An invocation has the process for itself: what one aborts is not another's.
      maxInstanceRequestConcurrency: 1,
      // Pub/Sub and Cloud Scheduler come from outside any network; who may call is IAM's to say.
      ingressSettings: 'ALLOW_ALL',
      allTrafficOnLatestRevision: true,
    },
  };
};

const uploadUrl = z.object({ uploadUrl: z.string(), storageSource: z.record(z.string(), z.unknown()) });

const uploaded = async (api: Api, { names }: Install, zip: Buffer) => {
  const given = uploadUrl.parse(await api.call({ method: 'POST', host: 'functions', path: `v2/${names.region}/functions:generateUploadUrl`, body: { environment: 'GEN_2' } }));
  await api.upload(given.uploadUrl, zip);
  return given.storageSource;
};

export const functionAt = async (api: Api, { names }: Install, name: string): Promise<DeployedFunction | null> => {
  const answer = await found(api, 'functions', `v2/${names.function(name)}`);
  return answer === null ? null : deployed.parse(answer);
};

export const addressOf = ({ names }: Install, name: string, { url, serviceConfig }: DeployedFunction): string => url ?? serviceConfig.uri ?? names.address(name);

/** Built anew only when its code or its configuration differs, or the last build did not come off. Answers with its address. */
export const ensureFunction = async (api: Api, install: Install, packaged: PackagedFunction, say: Say): Promise<string> => {
  const { names } = install;
  const wanted = wantedOf(install, packaged);
  const present = await functionAt(api, install, packaged.name);
  if (present && present.state === 'ACTIVE' && covers(present, wanted)) return addressOf(install, packaged.name, present);
  say(`function ${packaged.name}: being built`);
  const storageSource = await uploaded(api, install, packaged.zip);
  const body = { ...wanted, buildConfig: { ...wanted.buildConfig, source: { storageSource } } };
  const path = present
    ? `v2/${wanted.name}?updateMask=description,labels,buildConfig,serviceConfig`
    : `v2/${names.region}/functions?functionId=${names.functionId(packaged.name)}`;
  await finished(api, await api.call({ method: present ? 'PATCH' : 'POST', host: 'functions', path, body }), `the build of ${packaged.name}`);
  say(`function ${packaged.name}: ${present ? 'changed' : 'made'}`);
  const built = await functionAt(api, install, packaged.name);
  return built ? addressOf(install, packaged.name, built) : names.address(packaged.name);
};

export const removeFunction = async (api: Api, install: Install, name: string, say: Say): Promise<void> => {
  if ((await functionAt(api, install, name)) === null) return;
  await finished(api, await api.call({ method: 'DELETE', host: 'functions', path: `v2/${install.names.function(name)}` }), `the removal of ${name}`);
  say(`function ${name}: removed`);
};
