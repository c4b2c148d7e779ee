import { z } from 'zod';
import { lastDeployment } from './deployment.ts';
import { failureOf, isGood, type Arm } from './arm.ts';
import { WEB_API } from './hosting.ts';
import type { Install } from './install.ts';
import { httpFunctions } from './names.ts';

/** https://learn.microsoft.com/rest/api/appservice/web-apps/list-function-keys */
const keys = z.record(z.string(), z.unknown()).transform((all, context) => {
  const key = [all['default'], ...Object.values(all)].find((one) => typeof one === 'string');
  if (key !== undefined) return key;
  context.addIssue({ code: 'custom', message: 'the function has no key' });
  return z.NEVER;
});

const keyOf = async (arm: Arm, { names }: Install, name: string): Promise<string | null> => {
  const call = { method: 'POST', path: `${names.siteId}/functions/${name}/listkeys?api-version=${WEB_API}` } as const;
  const answer = await arm.ask(call);
  if (answer.status === 404) return null;
  if (!isGood(answer)) throw failureOf(call, answer);
  return keys.parse(answer.body);
};

/** What a function answers, called with its key; undefined when there is none, or none that can be called. */
export const invoke = async (arm: Arm, install: Install, name: string, payload: unknown): Promise<unknown> => {
  if (!httpFunctions.some((one) => one === name)) return undefined;
  const key = await keyOf(arm, install, name);
  const outputs = await lastDeployment(arm, install);
  if (key === null || outputs === null || outputs.host === null) return undefined;
  const body = Buffer.from(JSON.stringify(payload));
  const call = { method: 'POST', path: `https://${outputs.host}/api/${name}`, body, headers: { 'x-functions-key': key, 'content-type': 'application/json' }, scope: null } as const;
  const answer = await arm.ask(call);
  if (isGood(answer)) return answer.body;
  throw failureOf(call, { status: answer.status, body: { error: { code: 'said', message: JSON.stringify(answer.body) } } });
};

const table = z.object({ tables: z.array(z.object({ rows: z.array(z.array(z.unknown())) })).min(1) });

const LOGS = 'https://api.loganalytics.azure.com';
const LOGS_SCOPE = 'https://api.loganalytics.io/.default';
const MOST_LINES = 100;

/** The latest lines, the oldest first. https://learn.microsoft.com/azure/azure-monitor/logs/api/overview */
export const logLines = async (arm: Arm, install: Install, name: string, endpoint: string | null): Promise<readonly string[]> => {
  const outputs = await lastDeployment(arm, install);
  if (outputs === null || outputs.workspace === null) return [];
  const query = `AppTraces | where OperationName == "${name.replaceAll(/[^\w-]/g, '')}" | top ${MOST_LINES} by TimeGenerated desc | order by TimeGenerated asc | project TimeGenerated, Message`;
  const { body } = await arm.call({ method: 'POST', path: `${endpoint ?? LOGS}/v1/workspaces/${outputs.workspace}/query`, body: { query, timespan: 'P1D' }, scope: LOGS_SCOPE });
  return (table.parse(body).tables[0]?.rows ?? []).map((row) => row.map(String).join(' '));
};
