/** Why a step is taken, awaited, or refused: a code for machines and metrics, and a sentence for people. */
export interface Reason {
  readonly code: ReasonCode;
  readonly says: string;
}

export type ReasonCode =
  // nothing to do
  | 'no-node'
  | 'not-in-its-cluster'
  | 'machine-unknown'
  | 'machine-running'
  | 'machine-starting'
  | 'nothing-to-free'
  // doubt
  | 'identity-contradicted'
  | 'identity-unproven'
  | 'identity-ambiguous'
  | 'record-unreadable'
  | 'record-of-another-machine'
  | 'record-not-ours'
  | 'record-lost'
  | 'fence-removed-by-hand'
  | 'suspended'
  | 'vouching-refused'
  | 'name-reused'
  | 'power-unknown'
  | 'generation-unknown'
  | 'missing-without-witness'
  | 'missing-but-disk-held'
  | 'scope-not-served'
  | 'kubelet-not-silent'
  | 'lease-renewed-after-off'
  | 'lease-looks-late'
  // guards
  | 'paused'
  | 'opted-out'
  | 'cap-reached'
  | 'taint-removed-by-hand'
  | 'unreachable-but-running'
  | 'power-off-refused'
  // waiting
  | 'stopping'
  | 'stopping-too-long'
  | 'second-read'
  | 'delayed-by-policy'
  | 'pods-going'
  | 'attachments-going'
  | 'disks-going'
  | 'cluster-unreachable'
  | 'return-unproven'
  | 'lease-misdated'
  | 'renewal-awaited'
  | 'controllers-settling'
  // doing
  | 'off-proven'
  | 'started-in-between'
  | 'pod-on-dead-machine'
  | 'attachment-lingers'
  | 'disk-still-attached'
  | 'attacher-in-back-off'
  | 'attacher-nudged'
  | 'machine-gone-for-good'
  | 'node-delete-by-policy'
  | 'power-off-by-policy'
  | 'silent-again'
  | 'no-longer-off'
  | 'taint-of-another-boot'
  | 'no-longer-stopping'
  | 'work-came-back'
  | 'nothing-left-to-free'
  | 'returned'
  | 'settled'
  | 'accepted-by-a-person'
  // ends
  | 'fenced'
  | 'released'
  | 'would-fence'
  | 'would-release'
  | 'not-fenced'
  | 'another-fence'
  | 'another-boot'
  | 'still-off'
  | 'step-refused'
  | 'unavailable'
  | 'denied'
  | 'invalid'
  | 'unexpected';

/**
 * Waits that may last long because they depend on something outside. A caller that can come back later does not need to
 * wait for their end.
 */
export const longWaits: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'stopping',
  'stopping-too-long',
  'delayed-by-policy',
  'return-unproven',
  'controllers-settling',
  'cluster-unreachable',
]);

const BREAKS_OUT = /[\p{Cc}\p{Zl}\p{Zp}]/gu;

/** Replaces control characters with spaces. Foreign text must not control a terminal, or begin its own line. */
export const onOneLine = (text: string): string => text.replaceAll(BREAKS_OUT, ' ');

/** Shortens a text to at most `longest` characters, and marks the omission. */
export const shorten = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest - 1)}…` : text;

export const because = (code: ReasonCode, says: string): Reason => ({ code, says });

const MOST_NAMED = 5;

/** Lists the first names, and says how many others there are. */
export const listSome = (names: readonly string[]): string =>
  names.slice(0, MOST_NAMED).join(', ') + (names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '');

/**
 * Returns a count with its noun, such as "1 pod" or "3 pods". `one` may include the verb. Then also pass `many`, as in
 * `pluralize(n, 'pod is', 'pods are')`.
 */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
