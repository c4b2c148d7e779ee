import { z } from 'zod';
import { minLength, nonEmptyText } from '../../fencing/model/foreign-text.ts';
import { Refused } from '../../fencing/model/errors.ts';
import { describeFunctionFailure } from '../serverless/deployer.ts';
import { type Arm, errorFromResponse, isSuccess } from './arm.ts';
import { WEB_API_VERSION } from './hosting.ts';
import { type Install, PACKAGE, type FunctionApp, appOf, httpFunctions } from './install.ts';
import { WORKSPACE_API_VERSION } from './monitoring.ts';

/**
 * Reads the current state of the app. It does not use the outputs of a deployment, because those disappear with the
 * deployment history.
 */

const site = z.object({
  tags: z.record(z.string(), z.string()).nullish(),
  properties: z.object({
    state: z.string().default('unknown'),
    defaultHostName: nonEmptyText,
    hostNameSslStates: z.array(z.object({ name: z.string(), hostType: z.string() })).default([]),
  }),
});

export interface FunctionSite {
  /** The hash of the package that the app runs. */
  readonly published: string | null;
  readonly state: string;
  /** The host under which its functions are called. */
  readonly host: string;
  /** The host that accepts packages. */
  readonly scmHost: string | null;
}

/**
 * Returns the app, or null if ARM says that it does not exist.
 * @throws CloudfenceError in any other case
 */
export const readFunctionSite = async (
  arm: Arm,
  { site: name, siteId }: Pick<FunctionApp, 'site' | 'siteId'>,
): Promise<FunctionSite | null> => {
  const answer = await arm.find({ method: 'GET', path: `${siteId}?api-version=${WEB_API_VERSION}` });
  if (answer === null) return null;
  const read = site.safeParse(answer.body);
  if (!read.success)
    throw new Refused(`Azure returned an unexpected description of app ${name}`, { cause: read.error });
  const { tags, properties } = read.data;
  const scmHost = properties.hostNameSslStates.find(({ hostType }) => hostType === 'Repository');
  return {
    published: tags?.[PACKAGE] ?? null,
    state: properties.state,
    host: properties.defaultHostName,
    scmHost: scmHost?.name ?? null,
  };
};

/**
 * Returns the default key, or any other one.
 * https://learn.microsoft.com/rest/api/appservice/web-apps/list-function-keys
 */
const keys = z.record(z.string(), z.unknown()).transform((all, context) => {
  const key = [all['default'], ...Object.values(all)].find((one) => typeof one === 'string');
  if (key !== undefined) return key;
  context.addIssue({ code: 'custom', message: 'the function has no key' });
  return z.NEVER;
});

/**
 * Returns the key of a function. If an app lacks the function, a deployment stopped halfway, or the app never received
 * its package. Its earlier actions are unknown.
 * @throws Refused if the app has no such function
 */
const keyOf = async (arm: Arm, { site, siteId }: FunctionApp, name: string): Promise<string> => {
  const answer = await arm.find({
    method: 'POST',
    path: `${siteId}/functions/${name}/listkeys?api-version=${WEB_API_VERSION}`,
  });
  if (answer === null) throw new Refused(`the app ${site} exists but has no function ${name}: deploy again`);
  return keys.parse(answer.body);
};

/** Longer than a function can take, which is four minutes. */
const INVOCATION_LASTS_MS = 5 * 60_000;

/**
 * Calls a function with its key, at the host that the app reports, and returns the answer. Returns undefined if ARM
 * says that the app does not exist. Any other obstacle throws, because a removal must not treat a missing answer as "no
 * Node is fenced". The call is sent only once, because a failed function would run again for minutes.
 */
export const invokeFunction = async (arm: Arm, install: Install, name: string, payload: unknown): Promise<unknown> => {
  const called = appOf(name);
  if (called === null || !httpFunctions.some((one) => one === name)) return undefined;
  const app = install.names.apps[called];
  const site = await readFunctionSite(arm, app);
  if (site === null) return undefined;
  const key = await keyOf(arm, app, name);
  const body = Buffer.from(JSON.stringify(payload));
  const call = {
    method: 'POST',
    path: `https://${site.host}/api/${name}`,
    body,
    headers: { 'x-functions-key': key, 'content-type': 'application/json' },
    scope: null,
    once: true,
    lasts: INVOCATION_LASTS_MS,
  } as const;
  const answer = await arm.ask(call);
  if (isSuccess(answer)) return answer.body;
  throw errorFromResponse(call, {
    status: answer.status,
    body: { error: { code: 'said', message: describeFunctionFailure(answer.body) } },
  });
};

const table = z.object({ tables: z.array(z.object({ rows: z.array(z.array(z.unknown())) })).check(minLength(1)) });

const workspace = z.object({ properties: z.object({ customerId: z.string() }) });

const LOGS = 'https://api.loganalytics.azure.com';
const LOGS_SCOPE = 'https://api.loganalytics.io/.default';
const MOST_LINES = 100;

/**
 * Returns the latest lines, oldest first.
 * https://learn.microsoft.com/azure/azure-monitor/logs/api/overview
 */
export const readLogLines = async (
  arm: Arm,
  install: Install,
  name: string,
  endpoint: string | null,
): Promise<readonly string[]> => {
  const found = await arm.find({
    method: 'GET',
    path: `${install.names.workspaceId}?api-version=${WORKSPACE_API_VERSION}`,
  });
  if (found === null) return [];
  const { customerId } = workspace.parse(found.body).properties;
  const query =
    `AppTraces | where OperationName == "${name.replaceAll(/[^\w-]/g, '')}" | top ${MOST_LINES} by TimeGenerated ` +
    'desc | order by TimeGenerated asc | project TimeGenerated, Message';
  const { body } = await arm.call({
    method: 'POST',
    path: `${endpoint ?? LOGS}/v1/workspaces/${customerId}/query`,
    body: { query, timespan: 'P1D' },
    scope: LOGS_SCOPE,
  });
  return (table.parse(body).tables[0]?.rows ?? []).map((row) => row.map(String).join(' '));
};
