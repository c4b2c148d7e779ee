import { z } from 'zod';
import type { GateRequest } from './gate.ts';

/** What a request of Cloudfence would change, with the names of its steps. */
export type Change =
  | 'enter'
  | 'mark'
  | 'note'
  | 'park'
  | 'fail-pod'
  | 'delete-pod'
  | 'delete-attachment'
  | 'nudge'
  | 'nudge-off'
  | 'delete-node'
  | 'detach-disk'
  | 'power-off'
  | 'record-event';

const jsonPatch = z.array(z.looseObject({ op: z.string(), path: z.string() }));
const nudge = z.looseObject({ metadata: z.looseObject({ annotations: z.record(z.string(), z.string().nullable()) }) });

/** A mark adds taints, a park and a release remove them, and a note does not change them. */
const changeOfNode = (body: string): Change => {
  const taints = jsonPatch
    .parse(JSON.parse(body))
    .filter(({ op, path }) => op !== 'test' && path.startsWith('/spec/taints'));
  if (taints.length === 0) return 'note';
  return taints.some(({ op }) => op === 'add') ? 'mark' : 'park';
};

const changeOfAttachment = (body: string): Change =>
  Object.values(nudge.parse(JSON.parse(body)).metadata.annotations).includes(null) ? 'nudge-off' : 'nudge';

/** By method and path. The first match counts. */
const changes: readonly (readonly [RegExp, (body: string) => Change])[] = [
  [/^PATCH \/api\/v1\/namespaces\/kube-system\/configmaps\/cloudfence-ledger$/, () => 'enter'],
  [/^PATCH \/api\/v1\/nodes\/[^/]+$/, changeOfNode],
  [/^DELETE \/api\/v1\/nodes\/[^/]+$/, () => 'delete-node'],
  [/^PATCH \/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/status$/, () => 'fail-pod'],
  [/^DELETE \/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+$/, () => 'delete-pod'],
  [/^PATCH \/apis\/storage.k8s.io\/v1\/volumeattachments\/[^/]+$/, changeOfAttachment],
  [/^DELETE \/apis\/storage.k8s.io\/v1\/volumeattachments\/[^/]+$/, () => 'delete-attachment'],
  [/^POST \/apis\/events.k8s.io\/v1\/namespaces\/[^/]+\/events$/, () => 'record-event'],
];

const actions: Readonly<Record<string, Change>> = { DetachVolume: 'detach-disk', StopInstances: 'power-off' };

export const actionOf = ({ body }: GateRequest): string => new URLSearchParams(body).get('Action') ?? '';

const changeAtEc2 = (passing: GateRequest): Change | null => {
  const action = actionOf(passing);
  const change = actions[action] ?? null;
  if (change === null && !action.startsWith('Describe')) throw new Error(`nobody knows what ${action} changes`);
  return change;
};

/**
 * Null for a read.
 * @throws Error for a change that no step makes
 */
export const changeIn = (passing: GateRequest): Change | null => {
  if (passing.to === 'ec2') return changeAtEc2(passing);
  if (passing.method === 'GET') return null;
  const line = `${passing.method} ${passing.path.split('?')[0]}`;
  const found = changes.find(([pattern]) => pattern.test(line));
  if (!found) throw new Error(`nobody knows what ${line} changes`);
  return found[1](passing.body);
};

/** What may not happen to a machine that runs again. */
const destructive: ReadonlySet<Change | null> = new Set<Change>([
  'mark',
  'fail-pod',
  'delete-pod',
  'delete-attachment',
  'delete-node',
  'detach-disk',
  'power-off',
]);

export const isDestructive = (change: Change | null): boolean => destructive.has(change);
