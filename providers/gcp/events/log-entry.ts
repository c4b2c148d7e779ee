import { z } from 'zod';
import type { MachineId } from '../../../fencing/machine.ts';
import type { Reading } from '../../../fencing/hint.ts';
import { NUMERIC_ID, instancePath, machineIdOf, pathIn, regionOf, type InstancePath } from '../paths.ts';
import { aside, hinted } from '../../events/reading.ts';
import { fault, unreadable } from './faults.ts';
import { meaningOf } from './methods.ts';

/** An entry of the Cloud Audit Logs. https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog */

const text = z.string().nullish();
/** Of the libraries that write protobuf as JSON, some write numbers as texts, and words of a list as numbers. */
const number = z.union([z.number(), z.string().regex(/^-?\d+$/).transform(Number)]).nullish();

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

export const readLogEntry = (raw: object, where: string): Reading => {
  const read = entry.safeParse(raw);
  if (!read.success) return unreadable(read.error, where, 'send audit log entries as the log router delivers them', raw);
  const { methodName } = read.data.protoPayload;
  const meaning = meaningOf(methodName);
  if (meaning.kind === 'none') return aside(`an entry of ${methodName}, which switches no instance on or off by itself`, where);
  if (meaning.kind === 'call' && hasFailed(read.data)) return aside(`a call of ${methodName} that failed`, where);
  if (meaning.kind === 'call' && hasOnlyBegun(read.data)) return aside(`a call of ${methodName} that was accepted; another entry tells of its end`, where);
  return readMachine(read.data, meaning.because, raw, where);
};

/** https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#logseverity */
const ERROR = 500;

/** A status may have words and no code; a code is an error. What the system reports has happened, however severe it is. */
const hasFailed = ({ severity, protoPayload: { status } }: Entry): boolean => severity === 'ERROR' || severity === ERROR || (status?.code ?? 0) !== 0;

/** Each operation is told twice. An entry that says neither is taken for its end. */
const hasOnlyBegun = ({ operation }: Entry): boolean => operation?.first === true && operation.last !== true;

const readMachine = (said: Entry, because: string, raw: object, where: string): Reading => {
  const named = instancePath(pathIn(said.protoPayload.resourceName ?? ''));
  const place = `${where}.protoPayload.resourceName`;
  if (!named) return fault('is no path of an instance (projects/…/zones/…/instances/…)', place, 'send the entry as it was logged', raw);
  const path = withProjectId(named, said.resource?.labels?.project_id ?? null);
  if (!path) return fault('names its project by number, and no label says its id', place, 'send the entry with resource.labels.project_id', raw);
  return hinted([{ ...placeIn(path), because, eventId: said.insertId ?? null, time: momentOf(said.timestamp), replay: null }]);
};

/** The rest of the world, Nodes among it, names a project by its id. */
const withProjectId = (path: InstancePath, projectId: string | null): InstancePath | null => {
  if (!NUMERIC_ID.test(path.project)) return path;
  return projectId === null ? null : instancePath(machineIdOf({ ...path, project: projectId }));
};

export const placeIn = (path: InstancePath): { readonly machine: MachineId; readonly account: string; readonly region: string } => ({
  machine: machineIdOf(path),
  account: path.project,
  region: regionOf(path.zone),
});

const momentOf = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};
