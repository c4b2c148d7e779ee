import { actionOf } from '../faults/changes.ts';
import type { GateRequest } from '../faults/gate.ts';
import type { GateTraffic } from '../faults/gates.ts';

/** The number of calls of one run, by kind. */
export type Calls = Readonly<Record<string, number>>;

/**
 * Matches a path such as `/api/v1/namespaces/NAMESPACE/pods/NAME/status?…`.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
 */
const RESOURCE = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/(?=.))?([^/?]+)(\/[^/?]+)?(\/[^/?]+)?/;

const verbOf = (method: string, named: boolean): string => (method === 'GET' && !named ? 'LIST' : method);

const kindOf = (passing: GateRequest): string => {
  if (passing.to === 'ec2') return `EC2 ${actionOf(passing)}`;
  const [, resource = passing.path, name, below = ''] = RESOURCE.exec(passing.path) ?? [];
  return `${verbOf(passing.method, name !== undefined)} ${resource}${below}`;
};

export const tally = (passings: readonly GateRequest[]): Calls => {
  const calls: Record<string, number> = {};
  for (const passing of passings) calls[kindOf(passing)] = (calls[kindOf(passing)] ?? 0) + 1;
  return calls;
};

export const sumOf = (calls: Calls): number => Object.values(calls).reduce((sum, times) => sum + times, 0);

/** When the first calls of a run arrived, in seconds after `zero` (mono ms). */
export interface FirstCalls {
  readonly any: number;
  readonly mark: number;
  readonly deletedPod: number;
}

export const firstCallsIn = (seen: readonly GateTraffic[], zero: number): FirstCalls => {
  const first = (wanted: (one: GateTraffic) => boolean): number =>
    ((seen.find(wanted)?.at ?? Number.NaN) - zero) / 1000;
  return {
    any: first(() => true),
    mark: first(({ change }) => change === 'mark'),
    deletedPod: first(({ change }) => change === 'delete-pod'),
  };
};
