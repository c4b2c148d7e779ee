import type { Agent } from 'node:https';
import type { ComputeManagementClient } from '@azure/arm-compute';
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
