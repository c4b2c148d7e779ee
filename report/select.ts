import { InvalidInput } from '../fencing/model/errors.ts';
import type { Incident } from '../incidents/incident.ts';
import type { DamagedObject, IncidentObject } from '../incidents/source.ts';
import { beganAt, lastAt } from './timeline.ts';

/** Which incidents a report is about. */

export interface ReportFilter {
  /** A fence, an incident, a Node, or a machine. Null: all. */
  readonly target: string | null;
  /** Only what something happened to since then (epoch ms). Null: always. */
  readonly since: number | null;
  /** Only what shadow mode saw. */
  readonly shadow: boolean;
}

/** What a report says. Every form of it shows the same. */
export interface Report {
  readonly wanted: ReportFilter;
  /** Where the incidents come from, in words. */
  readonly where: string;
  /** When the report is made (epoch ms). */
  readonly made: number;
  /** The newest first. */
  readonly incidents: readonly Incident[];
  /** All incidents that were read. The fences among them show how long Cloudfence itself takes there. */
  readonly read: readonly Incident[];
  readonly damaged: readonly DamagedObject[];
}

/** `node/<name>` is how other commands name a Node. */
const bareTarget = (target: string): string => target.replace(/^node\//, '');

/** The last parts of an object's name are the Node and the id. */
const isNamed = (object: string, target: string): boolean =>
  object
    .replace(/\.json$/, '')
    .split('/')
    .slice(-2)
    .includes(encodeURIComponent(target));

const isNewEnough = ({ written }: IncidentObject, since: number | null): boolean =>
  since === null || written === null || written >= since;

/**
 * Returns the objects that have to be read. An object's name says its Node and its id, so that a report on one of them
 * does not read all incidents. A machine is in no name.
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

/** Returns the wanted incidents, the newest first. */
export const selected = (
  incidents: readonly Incident[],
  { target, since, shadow }: ReportFilter,
): readonly Incident[] =>
  incidents
    .filter((one) => target === null || isAbout(one, target))
    .filter((one) => since === null || lastAt(one) >= since)
    .filter((one) => !shadow || one.shadow)
    .sort((a, b) => beganAt(b) - beganAt(a) || a.id.localeCompare(b.id));

/** @throws InvalidInput if no incident is about what a person named */
export const requireSome = ({ wanted: { target }, incidents, where }: Report): void => {
  if (target === null || incidents.length > 0) return;
  throw new InvalidInput(
    `there is no incident of ${target} in ${where}: give a fence, a Node, or a machine, or omit it to see all`,
  );
};
