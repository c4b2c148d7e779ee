import { z } from 'zod';
import type { ParsedEvent } from '../../../fencing/model/hint.ts';
import type { MachineId } from '../../../fencing/model/machine.ts';
import { fault, ignoredEvent, parsedHints, unreadable } from '../../events/reading.ts';
import { instancePath, type InstancePath, machineIdOf, NUMERIC_ID, pathFromLink, regionOf } from '../identity.ts';

/**
 * An entry of Cloud Audit Logs.
 * https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog
 */

const text = z.string().nullish();
/** Some libraries that write protobuf as JSON write numbers as text, or the words of an enumeration as numbers. */
const number = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^-?\d+$/)
      .transform(Number),
  ])
  .nullish();

const entry = z.object({
  protoPayload: z.object({
    methodName: z.string(),
    resourceName: text,
    status: z.object({ code: number }).nullish(),
  }),
  resource: z.object({ labels: z.object({ project_id: text }).nullish() }).nullish(),
  operation: z.object({ first: z.boolean().nullish(), last: z.boolean().nullish() }).nullish(),
  severity: z.union([z.string(), z.number()]).nullish(),
  insertId: text,
  timestamp: text,
});

type Entry = z.infer<typeof entry>;

export const readLogEntry = (raw: object, where: string): ParsedEvent => {
  const read = entry.safeParse(raw);
  if (!read.success) return unreadable(read.error, where, 'send audit log entries as the log router delivers them');
  const { methodName } = read.data.protoPayload;
  const meaning = meaningOf(methodName);
  if (meaning.kind === 'none')
    return ignoredEvent(`an entry of ${methodName}, which does not start or stop an instance by itself`, where);
  if (meaning.kind === 'call' && hasFailed(read.data))
    return ignoredEvent(`a call of ${methodName} that failed`, where);
  if (meaning.kind === 'call' && hasOnlyBegun(read.data))
    return ignoredEvent(`a call of ${methodName} that was accepted; another entry reports its end`, where);
  return readMachine(read.data, meaning.because, where);
};

/** https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#logseverity */
const ERROR = 500;

/**
 * Returns whether the call failed. A status may have a message without a code. Only a code means an error. System
 * events skip this check, because they report what has already happened, whatever their severity.
 */
const hasFailed = ({ severity, protoPayload: { status } }: Entry): boolean =>
  severity === 'ERROR' || severity === ERROR || (status?.code ?? 0) !== 0;

/**
 * Returns whether this is the first of the two entries of an operation. An entry that is marked neither first nor last
 * counts as the last.
 */
const hasOnlyBegun = ({ operation }: Entry): boolean => operation?.first === true && operation.last !== true;

const readMachine = (logged: Entry, because: string, where: string): ParsedEvent => {
  const named = instancePath(pathFromLink(logged.protoPayload.resourceName ?? ''));
  const jsonPath = `${where}.protoPayload.resourceName`;
  if (!named)
    return fault(
      'is not the path of an instance (projects/…/zones/…/instances/…)',
      jsonPath,
      'send the entry as it was logged',
    );
  const path = withProjectId(named, logged.resource?.labels?.project_id ?? null);
  if (!path)
    return fault(
      'names its project by number, and no label contains the project id',
      jsonPath,
      'send the entry with resource.labels.project_id',
    );
  return parsedHints([
    {
      ...hintFieldsOf(path),
      because,
      eventId: logged.insertId ?? null,
      time: momentOf(logged.timestamp),
      replay: null,
    },
  ]);
};

/** Returns the path with the project id, which Nodes and all other sources use. */
const withProjectId = (path: InstancePath, projectId: string | null): InstancePath | null => {
  if (!NUMERIC_ID.test(path.project)) return path;
  return projectId === null ? null : instancePath(machineIdOf({ ...path, project: projectId }));
};

export const hintFieldsOf = (
  path: InstancePath,
): { readonly machine: MachineId; readonly account: string; readonly region: string } => ({
  machine: machineIdOf(path),
  account: path.project,
  region: regionOf(path.zone),
});

const momentOf = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};

/**
 * The effect of the methods in log entries on the power state of an instance.
 * https://cloud.google.com/compute/docs/logging/audit-logging
 */

type Meaning =
  | { readonly kind: 'call' | 'system-event'; readonly because: string }
  /** The method is not about an instance, or does not change whether it runs. */
  | { readonly kind: 'none' };

const CALL = /^(?:v1|beta|alpha)\.compute\.instances\.(\w+)$/;
const SYSTEM_EVENT = /^compute\.instances\.([\w.]+)$/;

/**
 * Calls after which an instance has another power state. `reset` is not in the list, because the instance stays RUNNING
 * during that reboot.
 */
export const powerCalls: ReadonlySet<string> = new Set([
  'delete',
  'insert',
  'resume',
  'start',
  'startWithEncryptionKey',
  'stop',
  'suspend',
]);

/**
 * System events that do not change the power. Google adds system events over time. All other system events are a reason
 * to look, because a look costs almost nothing.
 */
export const harmlessSystemEvents: ReadonlySet<string> = new Set(['migrateOnHostMaintenance', 'reset']);

const kebab = (name: string): string =>
  name
    .replaceAll('.', '-')
    .replace(/\B[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase();

const meaningOf = (methodName: string): Meaning => {
  const call = CALL.exec(methodName)?.[1];
  if (call !== undefined)
    return powerCalls.has(call) ? { kind: 'call', because: `api-call-${kebab(call)}` } : { kind: 'none' };
  const event = SYSTEM_EVENT.exec(methodName)?.[1];
  return event === undefined || harmlessSystemEvents.has(event)
    ? { kind: 'none' }
    : { kind: 'system-event', because: kebab(event) };
};
