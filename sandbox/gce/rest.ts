import { actions } from './actions.ts';
import { parseResource, type WireCall } from './call.ts';
import { consumeFault, type InjectedFailure } from './faults.ts';
import { beginOperation, endOperation } from './operations.ts';
import { GceRefusal } from './refusal.ts';
import { errorJson, operationJson, type Json } from './render.ts';
import { instancesIn, type GceWorld } from './state.ts';
import type { OperationError } from './faults.ts';

/** One response. `cut` means that the caller gets no response: the connection breaks, or stays silent. */
export interface GceAnswer {
  readonly status: number;
  readonly body: string;
  readonly cut: 'drop' | 'hang' | null;
  /** The API's name of the method, such as `instances.get`. */
  readonly method: string;
}

const COLLECTIONS: Readonly<Record<string, string>> = {
  'zones/instances': 'instances',
  'zones/disks': 'disks',
  'regions/disks': 'regionDisks',
  'zones/operations': 'zoneOperations',
};

const RESOURCE = /^\/compute\/v1\/projects\/([^/]+)\/(zones|regions)\/([^/]+)\/(\w+)\/([^/]+)(?:\/(\w+))?$/;

interface ParsedCall {
  /** Empty if the method does not exist. */
  readonly method: string;
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const VERBS: Readonly<Record<string, string>> = { GET: 'get', DELETE: 'delete' };

const parseCall = ({ method, url }: WireCall): ParsedCall => {
  const { pathname, searchParams: query } = new URL(url, 'http://sandbox');
  const [, project = '', kind = '', area = '', collection = '', name = '', verb] =
    RESOURCE.exec(pathname)?.map(decode) ?? [];
  const called = method === 'POST' ? verb : verb === undefined ? VERBS[method] : undefined;
  const among = COLLECTIONS[`${kind}/${collection}`];
  return {
    method: among === undefined || called === undefined ? '' : `${among}.${called}`,
    parts: [project, kind, area, name],
    query,
  };
};

const decode = (part: string | undefined): string | undefined =>
  part === undefined ? undefined : decodeURIComponent(part);

/** Handles one call of the REST API. https://cloud.google.com/compute/docs/reference/rest/v1 */
export const handleGce = (world: GceWorld, call: WireCall): GceAnswer => {
  const asked = parseCall(call);
  const early = consumeFault(world.parts.gce, 'before', asked.method, call.url);
  if (early) return mishapAnswer(world, early, asked);
  const answer = perform(world, asked, call.body);
  const late = consumeFault(world.parts.gce, 'after', asked.method, call.url);
  return late ? mishapAnswer(world, late, asked) : answer;
};

const answered = (status: number, json: Json, { method }: ParsedCall): GceAnswer => ({
  status,
  body: JSON.stringify(json),
  cut: null,
  method,
});

const perform = (world: GceWorld, asked: ParsedCall, body: string): GceAnswer => {
  try {
    const action = Object.hasOwn(actions, asked.method) ? actions[asked.method] : undefined;
    if (!action) throw new GceRefusal('notFound', 'there is no such method', 404);
    return answered(200, action(world, parseResource(world, asked.parts, asked.query, body)), asked);
  } catch (refusal) {
    if (!(refusal instanceof GceRefusal)) throw refusal;
    return answered(refusal.status, errorJson(refusal.status, refusal.reason, refusal.message), asked);
  }
};

const mishapAnswer = (world: GceWorld, mishap: InjectedFailure, asked: ParsedCall): GceAnswer => {
  switch (mishap.kind) {
    case 'error':
      return answered(
        mishap.status,
        errorJson(mishap.status, mishap.reason, `the scenario makes the sandbox answer ${mishap.reason}`),
        asked,
      );
    case 'page':
      return {
        status: mishap.status,
        body: '<html>the scenario makes the sandbox answer a page</html>',
        cut: null,
        method: asked.method,
      };
    case 'failing-operation':
      return answered(200, failedOperation(world, asked, mishap.error), asked);
    case 'drop':
    case 'hang':
      return { status: 0, body: '', cut: mishap.kind, method: asked.method };
  }
};

/** Accepts the call, which then has no effect. */
const failedOperation = (
  world: GceWorld,
  { parts: [, , zone, name], query }: ParsedCall,
  error: OperationError,
): Json => {
  const instance = instancesIn(world).find(
    ({ id, path }) => id === name || path.endsWith(`/zones/${zone}/instances/${name}`),
  );
  const operation = beginOperation(world, {
    type: 'detachDisk',
    target: instance?.path ?? '',
    targetId: instance?.id ?? '',
    requestId: query.get('requestId'),
  });
  const begun = operationJson(world, operation);
  endOperation(world, operation.name, error);
  return begun;
};
