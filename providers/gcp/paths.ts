import type { DiskId, MachineId } from '../../fencing/machine.ts';

/** Resources as Compute Engine writes them, alone or at the end of a URL. https://cloud.google.com/compute/docs/reference/rest/v1 */

export interface InstancePath {
  readonly project: string;
  readonly zone: string;
  /** The name, or in calls the numeric id. */
  readonly instance: string;
}

export type DiskPath =
  | { readonly project: string; readonly zone: string; readonly disk: string }
  | { readonly project: string; readonly region: string; readonly disk: string };

/** `example.com:` goes before the projects of old domains. */
const PROJECT = '((?:[a-z0-9.-]+:)?[a-z0-9][a-z0-9-]{0,62})';
const NAME = '([a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)';

export const INSTANCE_PATH = new RegExp(`^projects/${PROJECT}/zones/${NAME}/instances/${NAME}$`);
export const PROVIDER_ID = new RegExp(`^gce://${PROJECT}/${NAME}/${NAME}$`);
/** `multi-zone` stands in handles of the Persistent Disk driver for many disks of one name, to be read only. */
const ZONAL_DISK = new RegExp(`^projects/${PROJECT}/zones/(?!multi-zone/)${NAME}/disks/${NAME}$`);
const REGIONAL_DISK = new RegExp(`^projects/${PROJECT}/regions/${NAME}/disks/${NAME}$`);

/** An unsigned 64-bit number: kept as text, for it may exceed what a number holds exactly. */
export const NUMERIC_ID = /^[1-9][0-9]{0,19}$/;

export const instancePath = (path: string): InstancePath | null => {
  const [, project, zone, instance] = INSTANCE_PATH.exec(path) ?? [];
  return project === undefined || zone === undefined || instance === undefined ? null : { project, zone, instance };
};

export const machineIdOf = ({ project, zone, instance }: InstancePath): MachineId => `projects/${project}/zones/${zone}/instances/${instance}`;

export const diskPath = (path: string): DiskPath | null => {
  const [, project, zone, disk] = ZONAL_DISK.exec(path) ?? [];
  if (project !== undefined && zone !== undefined && disk !== undefined) return { project, zone, disk };
  const [, owner, region, replicated] = REGIONAL_DISK.exec(path) ?? [];
  return owner === undefined || region === undefined || replicated === undefined ? null : { project: owner, region, disk: replicated };
};

/** The path in a link such as `https://www.googleapis.com/compute/v1/projects/…`. */
export const pathIn = (link: string): DiskId => link.slice(Math.max(0, link.indexOf('projects/')));

/** `europe-west1` of `europe-west1-b`. */
export const regionOf = (zone: string): string => zone.slice(0, Math.max(0, zone.lastIndexOf('-')));

/** Whether a disk can be attached to machines of that place at all: they never leave their project, nor their zone or region. */
export const isWithin = (disk: DiskPath, { project, zone }: InstancePath): boolean =>
  disk.project === project && ('zone' in disk ? disk.zone === zone : disk.region === regionOf(zone));
