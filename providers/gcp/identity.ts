import type { Cloud } from '../../fencing/model/cloud.ts';
import type { DiskId, IdentitySource, MachineId, VolumeHandle } from '../../fencing/model/machine.ts';

/**
 * Resources as Compute Engine writes them, alone or at the end of a URL.
 * https://cloud.google.com/compute/docs/reference/rest/v1
 */

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
const PROVIDER_ID = new RegExp(`^gce://${PROJECT}/${NAME}/${NAME}$`);
/** `multi-zone` stands in handles of the Persistent Disk driver for many disks of one name, to be read only. */
const ZONAL_DISK = new RegExp(`^projects/${PROJECT}/zones/(?!multi-zone/)${NAME}/disks/${NAME}$`);
const REGIONAL_DISK = new RegExp(`^projects/${PROJECT}/regions/${NAME}/disks/${NAME}$`);

/** An unsigned 64-bit number: kept as text, for it may exceed what a number holds exactly. */
export const NUMERIC_ID = /^[1-9][0-9]{0,19}$/;

export const instancePath = (path: string): InstancePath | null => {
  const [, project, zone, instance] = INSTANCE_PATH.exec(path) ?? [];
  return project === undefined || zone === undefined || instance === undefined ? null : { project, zone, instance };
};

export const machineIdOf = ({ project, zone, instance }: InstancePath): MachineId =>
  `projects/${project}/zones/${zone}/instances/${instance}`;

export const diskPath = (path: string): DiskPath | null => {
  const [, project, zone, disk] = ZONAL_DISK.exec(path) ?? [];
  if (project !== undefined && zone !== undefined && disk !== undefined) return { project, zone, disk };
  const [, owner, region, replicated] = REGIONAL_DISK.exec(path) ?? [];
  return owner === undefined || region === undefined || replicated === undefined
    ? null
    : { project: owner, region, disk: replicated };
};

/** The path in a link such as `https://www.googleapis.com/compute/v1/projects/…`. */
export const pathIn = (link: string): DiskId => link.slice(Math.max(0, link.indexOf('projects/')));

/** `europe-west1` of `europe-west1-b`. */
export const regionOf = (zone: string): string => zone.slice(0, Math.max(0, zone.lastIndexOf('-')));

/**
 * Whether a disk can be attached to machines of that place at all: they never leave their project, nor their zone or
 * region.
 */
export const isWithin = (disk: DiskPath, { project, zone }: InstancePath): boolean =>
  disk.project === project && ('zone' in disk ? disk.zone === zone : disk.region === regionOf(zone));

const PD_DRIVER = 'pd.csi.storage.gke.io';

/**
 * The instance that an identity source names, by the path of its name; null for anything that is no instance of Compute
 * Engine. The Persistent Disk driver's node id is that path; a provider id is `gce://<project>/<zone>/<name>`, or the
 * bare path.
 * https://github.com/kubernetes/cloud-provider-gcp
 */
export const machineOf = ({ source, driver, value }: IdentitySource): MachineId | null => {
  switch (source) {
    case 'providerID':
      return fromProviderId(value);
    case 'systemUUID':
    case 'instanceIdAnnotation':
      return null;
    case 'csiNode':
    case 'nodeIdAnnotation':
    case 'volumeAttachment':
      return driver === PD_DRIVER && INSTANCE_PATH.test(value) ? value : null;
  }
};

const fromProviderId = (value: string): MachineId | null => {
  if (INSTANCE_PATH.test(value)) return value;
  const [, project, zone, instance] = PROVIDER_ID.exec(value) ?? [];
  return project === undefined || zone === undefined || instance === undefined
    ? null
    : machineIdOf({ project, zone, instance });
};

/** The numeric id, which only the annotation that GKE writes carries: every other source is passed on with the name. */
export const incarnationsOf = ({ source, value }: IdentitySource): readonly string[] =>
  source === 'instanceIdAnnotation' && NUMERIC_ID.test(value) ? [value] : [];

/**
 * The disk behind a CSI volume. Null for other drivers' volumes, and for a handle that leaves its project or zone
 * `UNSPECIFIED`, or stands for a disk in each of many zones: such a disk cannot be asked for by id without more.
 * https://github.com/kubernetes-sigs/gcp-compute-persistent-disk-csi-driver
 */
export const diskOf = ({ driver, handle }: VolumeHandle): DiskId | null =>
  driver === PD_DRIVER && diskPath(handle) !== null ? handle : null;

const UNSPECIFIED = /^projects\/UNSPECIFIED\/(?=zones\/|regions\/)/;
const ANY_ZONE = /(?<=\/)zones\/UNSPECIFIED\//;

/**
 * The same beside one instance. Volumes of the former in-tree plugin name no project, and those that a pod names itself
 * no zone: the driver takes the Node's, and Compute Engine attaches no disk of another project or place.
 */
const diskBeside =
  (machine: MachineId) =>
  ({ driver, handle }: VolumeHandle): DiskId | null => {
    const place = instancePath(machine);
    if (!place) return diskOf({ driver, handle });
    return diskOf({
      driver,
      handle: handle.replace(UNSPECIFIED, `projects/${place.project}/`).replace(ANY_ZONE, `zones/${place.zone}/`),
    });
  };

export const readingFor: NonNullable<Cloud['readingFor']> = (machine) => ({
  name: 'gcp',
  machineOf,
  incarnationsOf,
  unservedPlace: () => null,
  diskOf: diskBeside(machine),
});

/**
 * Names under which the Node of an instance may be registered, likeliest first: GKE takes the instance's name, others
 * its host name, set by hand or one of the internal DNS names.
 * https://cloud.google.com/compute/docs/internal-dns
 */
export const nodeNamesOf = ({ project, zone, instance }: InstancePath, hostname: string): readonly string[] => {
  const names = [instance, hostname, `${instance}.${zone}.c.${project}.internal`, `${instance}.c.${project}.internal`];
  return [...new Set(names)].filter((name) => name !== '');
};

/**
 * GKE labels the instances of its nodes with it.
 * https://cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels
 */
const CLUSTER = 'goog-k8s-cluster-name';

/** Names of the clusters that claim an instance by its labels. */
export const clustersIn = (labels: Readonly<Record<string, string>> | null | undefined): readonly string[] => {
  const name = labels?.[CLUSTER] ?? '';
  return name === '' ? [] : [name];
};
