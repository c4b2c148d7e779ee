import { z } from 'zod';
import type { Api } from './api.ts';
import type { Install } from './install.ts';

const entry = z.looseObject({ timestamp: z.string().default(''), textPayload: z.string().optional(), jsonPayload: z.record(z.string(), z.unknown()).optional() });
const entries = z.looseObject({ entries: z.array(entry).default([]) });

const LATEST = 50;

/** https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/list */
export const logLines = async (api: Api, { names, parameters }: Install, name: string): Promise<readonly string[]> => {
  const filter = `resource.type="cloud_run_revision" AND resource.labels.service_name="${names.functionId(name)}" AND resource.labels.location="${parameters.region}"`;
  const body = { resourceNames: [names.project], filter, orderBy: 'timestamp desc', pageSize: LATEST };
  const answer = entries.parse(await api.call({ method: 'POST', host: 'logging', path: 'v2/entries:list', body }));
  return answer.entries.toReversed().map(({ timestamp, textPayload, jsonPayload }) => `${timestamp} ${textPayload ?? JSON.stringify(jsonPayload ?? {})}`);
};
