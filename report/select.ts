import { encodePart } from '../fencing/model/foreign-text.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { Incident } from '../incidents/incident.ts';
import type { DamagedObject, IncidentObject } from '../incidents/source.ts';
import { beganAt, lastAt } from './timeline.ts';

/** The selection of incidents for a report. */

export interface ReportFilter {
  /** A fence, an incident, a Node, or a machine. Null: all incidents. */
  readonly target: string | null;
  /** Only incidents in which something happened since then (epoch ms). Null: no limit. */
  readonly since: number | null;
  /** Whether to select only incidents of shadow mode. */
  readonly shadow: boolean;
}

/** The content of a report. All formats show the same content. */
export interface Report {
  readonly wanted: ReportFilter;
  /** Where the incidents come from, as text. */
  readonly where: string;
  /** When the report was created (epoch ms). */
  readonly made: number;
  /** The latest incident first. */
  readonly incidents: readonly Incident[];
  /** All incidents that were read. The report takes the usual times of Cloudfence's own fences from them. */
  readonly read: readonly Incident[];
  readonly damaged: readonly DamagedObject[];
}

/** Other commands name a Node as `node/<name>`. */
const bareTarget = (target: string): string => target.replace(/^node\//, '');

/** The last parts of an object's name are the Node and the id. */
const isNamed = (object: string, target: string): boolean =>
  object
    .replace(/\.json$/, '')
    .split('/')
    .slice(-2)
    .includes(encodePart(target));

const isNewEnough = ({ written }: IncidentObject, since: number | null): boolean =>
  since === null || written === null || written >= since;

/**
 * Returns the objects that must be read. An object's name contains its Node and its id, so a report on one of them does
 * not have to read all incidents. The names do not contain the machine.
 */
export const objectsToRead = (
  objects: readonly IncidentObject[],
  { target, since }: ReportFilter,
): readonly IncidentObject[] => {
  const fresh = objects.filter((object) => isNewEnough(object, since));
  if (target === null) return fresh;
  const named = fresh.filter(({ name }) => isNamed(name, bareTarget(target)));
  return named.length > 0 ? named : fresh;
};

const isAbout = ({ id, fence, node, machine }: Incident, target: string): boolean =>
  [id, fence, node, machine].includes(bareTarget(target));

/** Returns the selected incidents, the latest first. */
export const selected = (
  incidents: readonly Incident[],
  { target, since, shadow }: ReportFilter,
): readonly Incident[] =>
  incidents
    .filter((one) => target === null || isAbout(one, target))
    .filter((one) => since === null || lastAt(one) >= since)
    .filter((one) => !shadow || one.shadow)
    .sort((a, b) => beganAt(b) - beganAt(a) || a.id.localeCompare(b.id));

/** @throws InvalidInput if no incident matches the target */
export const requireIncidents = ({ wanted: { target }, incidents, where }: Report): void => {
  if (target === null || incidents.length > 0) return;
  throw new InvalidInput(
    `there is no incident of ${target} in ${where}: give a fence, a Node, or a machine, or omit it to see all`,
  );
};
