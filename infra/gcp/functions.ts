import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { PackagedFunction, ReportProgress } from '../serverless/deployer.ts';
import { Refused, Unavailable } from '../../fencing/model/errors.ts';
import { type Api, callUntilPropagated, waitForOperation, POLICY_PROPAGATION_MS } from './api.ts';
import { hasAllWanted, findResource } from './ensure.ts';
import { functionEnvironment, type Install, functionNames } from './install.ts';

/** https://cloud.google.com/functions/docs/reference/rest/v2/projects.locations.functions */
const deployed = z.looseObject({
  state: z.string().default('UNKNOWN'),
  url: z.string().optional(),
  serviceConfig: z.looseObject({ uri: z.string().optional() }).default({}),
  labels: z.record(z.string(), z.string()).default({}),
});

type DeployedFunction = z.infer<typeof deployed>;

/** Shortened, because a label has at most 63 characters. */
const SOURCE = 'cloudfence-source';
const digestOf = (zip: Buffer): string => createHash('sha256').update(zip).digest('hex').slice(0, 32);

const descriptions: Readonly<Record<string, string>> = {
  'on-event': 'Looks at the machines that events name, and fences those that are off',
  sweep: 'Finds what events missed',
  replay: 'Processes an event as if it had just arrived',
  fence: 'Checks one machine on request, and fences it if it is off',
  diagnose: 'Says why a pod waits for its volume',
  doctor: 'Checks whether a fence would work with the accounts and network of this install',
};

const functionBody = (install: Install, { name, zip }: PackagedFunction) => {
  const { parameters, names } = install;
  return {
    name: names.function(name),
    description: descriptions[name] ?? name,
    environment: 'GEN_2',
    labels: { [SOURCE]: digestOf(zip) },
    buildConfig: {
      runtime: parameters.runtime,
      entryPoint: 'handler',
      serviceAccount: `${names.project}/serviceAccounts/${names.builder}`,
    },
    serviceConfig: {
      // The doctor's account may not read or stop a machine. The doctor asks the sweep, which runs as the account that
      // fences.
      serviceAccountEmail: name === 'doctor' ? names.doctor : names.runner,
      environmentVariables: functionEnvironment(install, name),
      availableMemory: `${parameters.memory}M`,
      availableCpu: String(parameters.cpu),
      timeoutSeconds: parameters.timeout / 1_000,
      maxInstanceCount: name === 'on-event' ? parameters.maximumInstances : 1,
      // Each invocation has the process to itself, so that aborting one never affects another.
      maxInstanceRequestConcurrency: 1,
      // Pub/Sub and Cloud Scheduler call from outside any network. IAM decides who may call.
      ingressSettings: 'ALLOW_ALL',
      allTrafficOnLatestRevision: true,
    },
  };
};

const uploadUrl = z.object({ uploadUrl: z.string(), storageSource: z.record(z.string(), z.unknown()) });

const uploaded = async (api: Api, { names }: Install, zip: Buffer) => {
  const given = uploadUrl.parse(
    await api.call({
      method: 'POST',
      host: 'functions',
      path: `v2/${names.region}/functions:generateUploadUrl`,
      body: { environment: 'GEN_2' },
    }),
  );
  await api.upload(given.uploadUrl, zip);
  return given.storageSource;
};

export const readFunction = async (api: Api, { names }: Install, name: string): Promise<DeployedFunction | null> => {
  const answer = await findResource(api, 'functions', `v2/${names.function(name)}`);
  return answer === null ? null : deployed.parse(answer);
};

export const functionUrl = ({ names }: Install, name: string, { url, serviceConfig }: DeployedFunction): string =>
  url ?? serviceConfig.uri ?? names.address(name);

const buildFunction = async (
  api: Api,
  install: Install,
  packaged: PackagedFunction,
  isThere: boolean,
): Promise<void> => {
  const { names } = install;
  const wanted = functionBody(install, packaged);
  const storageSource = await uploaded(api, install, packaged.zip);
  const body = { ...wanted, buildConfig: { ...wanted.buildConfig, source: { storageSource } } };
  const path = isThere
    ? `v2/${wanted.name}?updateMask=description,labels,buildConfig,serviceConfig`
    : `v2/${names.region}/functions?functionId=${names.functionId(packaged.name)}`;
  await waitForOperation(
    api,
    await callUntilPropagated(api, { method: isThere ? 'PATCH' : 'POST', host: 'functions', path, body }),
    `the build of ${packaged.name}`,
  );
};

const BETWEEN_BUILDS_MS = 60_000;

/**
 * Builds the function, and tries again if the grants of the account that builds are new. Until they take effect, a
 * build can fail with many different messages.
 */
const buildUntilGranted = async (
  api: Api,
  install: Install,
  packaged: PackagedFunction,
  isFresh: boolean,
  say: ReportProgress,
): Promise<void> => {
  for (let waited = 0; ; waited += BETWEEN_BUILDS_MS) {
    const isThere = (await readFunction(api, install, packaged.name)) !== null;
    try {
      return await buildFunction(api, install, packaged, isThere);
    } catch (error) {
      if (!isFresh || !(error instanceof Unavailable) || waited >= POLICY_PROPAGATION_MS) throw error;
      say(
        `function ${packaged.name}: building again, because its account got the permission only a moment ago: ` +
          error.message,
      );
    }
    await api.wait(BETWEEN_BUILDS_MS);
  }
};

/**
 * Builds the function only if its code or its configuration differs, or if its last build failed. Returns its address.
 * `isFresh` says that this deployment granted the permissions of the account that builds.
 */
export const ensureFunction = async (
  api: Api,
  install: Install,
  packaged: PackagedFunction,
  isFresh: boolean,
  say: ReportProgress,
): Promise<string> => {
  const present = await readFunction(api, install, packaged.name);
  if (present && present.state === 'ACTIVE' && hasAllWanted(present, functionBody(install, packaged)))
    return functionUrl(install, packaged.name, present);
  say(`function ${packaged.name}: building`);
  await buildUntilGranted(api, install, packaged, isFresh, say);
  say(`function ${packaged.name}: ${present ? 'changed' : 'created'}`);
  const now = await readFunction(api, install, packaged.name);
  return now ? functionUrl(install, packaged.name, now) : install.names.address(packaged.name);
};

const listed = z.looseObject({
  functions: z.array(z.looseObject({ name: z.string() })).default([]),
  unreachable: z.array(z.string()).default([]),
  nextPageToken: z.string().default(''),
});

/**
 * Returns the names of the install's functions in all regions.
 * @throws Unavailable if a region does not answer, because it may contain some
 */
export const functionsInAllRegions = async (api: Api, { names, prefix }: Install): Promise<readonly string[]> => {
  const ours = new Set(functionNames.map((name) => names.functionId(name)));
  const all: string[] = [];
  for (let token = ''; ;) {
    const page = new URLSearchParams({ pageSize: '1000', ...(token !== '' && { pageToken: token }) });
    const { functions, unreachable, nextPageToken } = listed.parse(
      await api.call({
        method: 'GET',
        host: 'functions',
        path: `v2/${names.project}/locations/-/functions?${page.toString()}`,
      }),
    );
    if (unreachable.length > 0)
      throw new Unavailable(
        `Google Cloud did not say whether functions of ${prefix} exist in ${unreachable.join(', ')}`,
      );
    all.push(...functions.map(({ name }) => name));
    if (nextPageToken === '' || nextPageToken === token)
      return all.filter((name) => ours.has(name.slice(name.lastIndexOf('/') + 1)));
    token = nextPageToken;
  }
};

export const removeFunction = async (api: Api, install: Install, name: string, say: ReportProgress): Promise<void> => {
  const present = await readFunction(api, install, name);
  if (present === null) return;
  if (!(SOURCE in present.labels))
    throw new Refused(
      `${install.names.function(name)} does not have the label ${SOURCE}, so Cloudfence does not remove it`,
    );
  await waitForOperation(
    api,
    await api.call({ method: 'DELETE', host: 'functions', path: `v2/${install.names.function(name)}` }),
    `the removal of ${name}`,
  );
  say(`function ${name}: removed`);
};

const logEntry = z.looseObject({
  timestamp: z.string().default(''),
  textPayload: z.string().optional(),
  jsonPayload: z.record(z.string(), z.unknown()).optional(),
});
const logEntries = z.looseObject({ entries: z.array(logEntry).default([]) });

/** How many of the latest log lines are read. */
const LATEST_LINES = 50;

/**
 * Returns the latest log lines of a function, oldest first.
 * https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/list
 */
export const readLogLines = async (
  api: Api,
  { names, parameters }: Install,
  name: string,
): Promise<readonly string[]> => {
  const filter =
    `resource.type="cloud_run_revision" AND resource.labels.service_name="${names.functionId(name)}" AND ` +
    `resource.labels.location="${parameters.region}"`;
  const body = { resourceNames: [names.project], filter, orderBy: 'timestamp desc', pageSize: LATEST_LINES };
  const answer = logEntries.parse(await api.call({ method: 'POST', host: 'logging', path: 'v2/entries:list', body }));
  return answer.entries
    .toReversed()
    .map(
      ({ timestamp, textPayload, jsonPayload }) => `${timestamp} ${textPayload ?? JSON.stringify(jsonPayload ?? {})}`,
    );
};
