/** What the methods of log entries mean for the power of an instance. https://cloud.google.com/compute/docs/logging/audit-logging */

export type Meaning =
  | { readonly kind: 'call' | 'system-event'; readonly because: string }
  /** It is about no instance, or changes nothing about whether one runs. */
  | { readonly kind: 'none' };

const CALL = /^(?:v1|beta|alpha)\.compute\.instances\.(\w+)$/;
const SYSTEM_EVENT = /^compute\.instances\.([\w.]+)$/;

/** Calls after which another power state is seen; `reset` is a reboot through which an instance stays RUNNING. */
const CALLS: ReadonlySet<string> = new Set(['delete', 'insert', 'resume', 'start', 'startWithEncryptionKey', 'stop', 'suspend']);

/** Google adds system events as it goes. Each but these is a reason to look, for a look costs next to nothing. */
const HARMLESS: ReadonlySet<string> = new Set(['migrateOnHostMaintenance', 'reset']);

const kebab = (name: string): string => name.replaceAll('.', '-').replace(/\B[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

export const meaningOf = (methodName: string): Meaning => {
  const call = CALL.exec(methodName)?.[1];
  if (call !== undefined) return CALLS.has(call) ? { kind: 'call', because: `api-call-${kebab(call)}` } : { kind: 'none' };
  const event = SYSTEM_EVENT.exec(methodName)?.[1];
  return event === undefined || HARMLESS.has(event) ? { kind: 'none' } : { kind: 'system-event', because: kebab(event) };
};
