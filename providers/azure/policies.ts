import type { Agent } from 'node:https';
import type { ComputeManagementClient } from '@azure/arm-compute';
import { z } from 'zod';
import { jsonIn } from '../../fencing/json-text.ts';
import { CONNECTING_LASTS_MS, type Permit } from '../../fencing/permit.ts';

type Policy = Parameters<ComputeManagementClient['pipeline']['addPolicy']>[0];

/** The last place before the wire: every wait for a token lies before. */
export const LAST = { afterPhase: 'Sign' } as const;

/** Checks the permit in the moment in which the order is handed to its connection. Questions about it afterwards need none. */
export const permitted = (permit: Permit): Policy => ({
  name: 'checkPermit',
  sendRequest: async (request, next) => {
    if (request.method !== 'GET') permit.check(CONNECTING_LASTS_MS);
    return next(request);
  },
});

/** A proxy that the environment names has put an agent of its own there before. */
export const connectsBy = (agent: Agent): Policy => ({
  name: 'connectsPromptly',
  sendRequest: (request, next) => {
    request.agent ??= agent;
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
