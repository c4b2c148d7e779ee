import { z } from 'zod';
import { Denied, Refused, Unavailable, type CloudfenceError } from '../../fencing/errors.ts';
import { waiting } from './calls.ts';
import type { ComputeClients } from './client.ts';
import { translated } from './errors.ts';
import type { InstancePath } from './paths.ts';

/** A call of Compute Engine is done when its operation is. https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses */

const operation = z.object({
  name: z.string().min(1),
  status: z.string(),
  error: z.object({ errors: z.array(z.object({ code: z.string().nullish() })).nullish() }).nullish(),
  httpErrorStatusCode: z.number().nullish(),
});

export type Operation = z.infer<typeof operation>;

const operationIn = (answer: unknown, call: string): Operation => {
  const read = operation.safeParse(answer);
  if (read.success) return read.data;
  throw new Unavailable(`${call} did not answer with an operation`, { cause: read.error });
};

/** A wait may be answered before the operation is done, the earlier the busier the server. */
const WAITS = 3;

/**
 * The operation that a call began, at its end; or as it stood after some waits, for whoever ordered it looks again anyway.
 *
 * @throws Unavailable, Denied, Refused
 */
export const ended = async (clients: ComputeClients, { project, zone }: InstancePath, begun: unknown, signal: AbortSignal): Promise<Operation> => {
  let last = operationIn(begun, 'the call');
  for (let n = 0; n < WAITS && last.status !== 'DONE'; n += 1) {
    const request = { project, zone, operation: last.name };
    const [answer] = await translated(clients, 'compute.zoneOperations.wait', signal, () => clients.operations.wait(request, waiting(signal)));
    last = operationIn(answer, 'compute.zoneOperations.wait');
  }
  return last;
};

/** Codes of operations' errors; others go by the class of the operation's HTTP status. */
const BUSY: ReadonlySet<string> = new Set(['INTERNAL_ERROR', 'QUOTA_EXCEEDED', 'RESOURCE_NOT_READY', 'RESOURCE_OPERATION_RATE_EXCEEDED', 'SERVICE_UNAVAILABLE', 'TIMEOUT']);
const DENIED: ReadonlySet<string> = new Set(['PERMISSIONS_ERROR']);

/** What went wrong with an operation that is done, or null. */
export const errorOf = ({ error, httpErrorStatusCode }: Operation, call: string): CloudfenceError | null => {
  const code = error?.errors?.[0]?.code;
  const status = httpErrorStatusCode ?? 0;
  if (code == null && status < 400) return null;
  const message = `the operation of ${call} ended with ${code ?? status}`;
  const options = { cause: error };
  if (code != null && DENIED.has(code)) return new Denied(message, options);
  if (code != null && BUSY.has(code)) return new Unavailable(message, options);
  if (status === 401 || status === 403) return new Denied(message, options);
  return status === 429 || status >= 500 ? new Unavailable(message, options) : new Refused(message, options);
};
