import { Agent } from 'node:http';
import type { ComputeManagementClient } from '@azure/arm-compute';
import { z } from 'zod';
import { jsonIn } from '../../fencing/json-text.ts';
import type { Connections } from '../../transport/pool.ts';
import type { Passage } from '../../transport/under-permit.ts';

type Policy = Parameters<ComputeManagementClient['pipeline']['addPolicy']>[0];

/** The last place before the wire: every wait for a token lies before. */
export const LAST = { afterPhase: 'Sign' } as const;

/** An order leaves by its passage. Questions about it afterwards need none. */
export const permitted = ({ check, through }: Passage): Policy => ({
  name: 'permitted',
  sendRequest: async (request, next) => {
    if (request.method === 'GET') return next(request);
    check();
    if (request.agent instanceof Agent) request.agent = through(request.agent);
    return next(request);
  },
});

/** A proxy that the environment names has put an agent of its own there before. */
export const connectsBy = ({ http, https }: Connections): Policy => ({
  name: 'connectsByOurs',
  sendRequest: (request, next) => {
    request.agent ??= request.url.startsWith('http:') ? http : https;
    return next(request);
  },
});

/** In ms. ARM is slow at times, but an answer that takes longer comes too late for any proof. */
const REQUEST_LASTS_MS = 10_000;

export const endsInTime: Policy = {
  name: 'endsInTime',
  sendRequest: (request, next) => {
    request.timeout = REQUEST_LASTS_MS;
    return next(request);
  },
};

/** https://learn.microsoft.com/azure/azure-resource-manager/management/azure-services-resource-providers#error-response */
const armError = z.object({ error: z.object({ code: z.string().min(1), message: z.string() }) });

/**
 * The SDK takes a `code` from whatever was answered. What is not in ARM's form is the word of something between us and ARM,
 * such as a proxy's page, and has no code for us.
 */
export const onlyArmsErrors: Policy = {
  name: 'onlyArmsErrors',
  sendRequest: async (request, next) => {
    const response = await next(request);
    const isError = response.status >= 400 && response.status < 500;
    return isError && !armError.safeParse(jsonIn(response.bodyAsText ?? '')).success ? { ...response, bodyAsText: null } : response;
  },
};
