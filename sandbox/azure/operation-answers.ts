import type { Call } from './calls.ts';
import type { AzureCloudWorld, Operation } from './state.ts';

/**
 * ARM's responses about long-running operations.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
 */

/** One response of ARM. `cut` means that the caller gets no response: the connection breaks, or stays silent. */
export interface ArmAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly cut: 'drop' | 'hang' | null;
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'retry-after': '0' } as const;

const urlOf = (
  world: AzureCloudWorld,
  { origin }: Call,
  kind: 'operations' | 'operationResults',
  { id }: Operation,
): string => {
  const { subscription, location } = world.parts.azure;
  return (
    `${origin}/subscriptions/${subscription}/providers/Microsoft.Compute/locations/${location}/${kind}/` +
    `${id}?api-version=2026-04-01`
  );
};

export const acceptedAnswer = (world: AzureCloudWorld, call: Call, operation: Operation): ArmAnswer => {
  const { pollBy } = world.parts.azure.knobs;
  const async = pollBy === 'location' ? {} : { 'azure-asyncoperation': urlOf(world, call, 'operations', operation) };
  const location = pollBy === 'async' ? {} : { location: urlOf(world, call, 'operationResults', operation) };
  return { status: 202, headers: { ...JSON_HEADERS, ...async, ...location }, body: '', cut: null };
};

const ASKED = /\/providers\/microsoft\.compute\/locations\/[^/]+\/(operations|operationresults)\/([^/]+)$/;

const errorOf = ({ code }: Operation) => ({
  error: { code: code ?? 'InternalExecutionError', message: 'The operation came to nothing.' },
});

/** Returns null if the call is not about an operation, or if the operation is unknown. */
export const operationAnswer = (world: AzureCloudWorld, call: Call): ArmAnswer | null => {
  const [, kind, id = ''] = ASKED.exec(call.path) ?? [];
  const operation = world.parts.azure.operations[id];
  if (!operation) return null;
  return kind === 'operations' ? statusAnswer(operation) : resultAnswer(world, call, operation);
};

const statusAnswer = (operation: Operation): ArmAnswer => ({
  status: 200,
  headers: JSON_HEADERS,
  body: JSON.stringify({
    name: operation.id,
    status: operation.status,
    ...(operation.status === 'Failed' && errorOf(operation)),
  }),
  cut: null,
});

const resultAnswer = (world: AzureCloudWorld, call: Call, operation: Operation): ArmAnswer => {
  if (operation.status === 'InProgress')
    return {
      status: 202,
      headers: { ...JSON_HEADERS, location: urlOf(world, call, 'operationResults', operation) },
      body: '',
      cut: null,
    };
  if (operation.status === 'Failed')
    return { status: 409, headers: JSON_HEADERS, body: JSON.stringify(errorOf(operation)), cut: null };
  return { status: 200, headers: JSON_HEADERS, body: '{}', cut: null };
};
