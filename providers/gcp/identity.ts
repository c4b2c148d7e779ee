import type { Cloud } from '../../fencing/model/cloud.ts';
import type { DiskId, IdentitySource, MachineId, VolumeHandle } from '../../fencing/model/machine.ts';

/**
 * Resource paths as Compute Engine writes them, alone or at the end of a URL.
 * https://cloud.google.com/compute/docs/reference/rest/v1
 */

export interface InstancePath {
  readonly project: string;
  readonly zone: string;
  /** The name or, in calls, the numeric id. */
  readonly instance: string;
}

export type DiskPath =
  | { readonly project: string; readonly zone: string; readonly disk: string }
  | { readonly project: string; readonly region: string; readonly disk: string };

/** The projects of old domains have the prefix `example.com:`. */
const PROJECT = '((?:[a-z0-9.-]+:)?[a-z0-9][a-z0-9-]{0,62})';
const NAME = '([a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)';

export const INSTANCE_PATH = new RegExp(`^projects/${PROJECT}/zones/${NAME}/instances/${NAME}$`);
const PROVIDER_ID = new RegExp(`^gce://${PROJECT}/${NAME}/${NAME}$`);
/**
 * The pattern rejects `multi-zone`, which the Persistent Disk driver uses in handles for many read-only disks with the
 * same name.
 */
const ZONAL_DISK = new RegExp(`^projects/${PROJECT}/zones/(?!multi-zone/)${NAME}/disks/${NAME}$`);
const REGIONAL_DISK = new RegExp(`^projects/${PROJECT}/regions/${NAME}/disks/${NAME}$`);

/** An unsigned 64-bit number, stored as text because a JavaScript number may not represent it exactly. */
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

/** Returns the path in a link such as `https://www.googleapis.com/compute/v1/projects/…`. */
export const pathFromLink = (link: string): DiskId => link.slice(Math.max(0, link.indexOf('projects/')));

/** Returns `europe-west1` for `europe-west1-b`. */
export const regionOf = (zone: string): string => zone.slice(0, Math.max(0, zone.lastIndexOf('-')));

/**
 * Returns whether the disk can be attached to machines in that location. Disks never leave their project, or their zone
 * or region.
 */
export const isReachableDisk = (disk: DiskPath, { project, zone }: InstancePath): boolean =>
  disk.project === project && ('zone' in disk ? disk.zone === zone : disk.region === regionOf(zone));

const PD_DRIVER = 'pd.csi.storage.gke.io';

/**
 * Returns the instance that an identity source names, by the path of its name. The Persistent Disk driver's node id is
 * that path. A provider id is `gce://<project>/<zone>/<name>` or the bare path. Returns null for anything that is not
 * an instance of Compute Engine.
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

/**
 * Returns the numeric id. Only the annotation that GKE writes contains it. All other sources also apply to a new
 * instance with the same name.
 */
export const immutableIdsOf = ({ source, value }: IdentitySource): readonly string[] =>
  source === 'instanceIdAnnotation' && NUMERIC_ID.test(value) ? [value] : [];

/**
 * Returns the disk behind a CSI volume. Returns null for volumes of other drivers, for handles with an `UNSPECIFIED`
 * project or zone, and for handles that stand for one disk in each of many zones. Such a disk cannot be read by id
 * without more information. https://github.com/kubernetes-sigs/gcp-compute-persistent-disk-csi-driver
 */
export const diskOf = ({ driver, handle }: VolumeHandle): DiskId | null =>
  driver === PD_DRIVER && diskPath(handle) !== null ? handle : null;

const UNSPECIFIED = /^projects\/UNSPECIFIED\/(?=zones\/|regions\/)/;
const ANY_ZONE = /(?<=\/)zones\/UNSPECIFIED\//;

/**
 * Returns the disk behind a CSI volume that belongs to one instance. Volumes of the former in-tree plugin contain no
 * project, and volumes that a pod names itself contain no zone. The driver uses the project and zone of the Node
 * instead. Compute Engine never attaches a disk from another project or location.
 */
const diskOfInstance =
  (machine: MachineId) =>
  ({ driver, handle }: VolumeHandle): DiskId | null => {
    const path = instancePath(machine);
    if (!path) return diskOf({ driver, handle });
    return diskOf({
      driver,
      handle: handle.replace(UNSPECIFIED, `projects/${path.project}/`).replace(ANY_ZONE, `zones/${path.zone}/`),
    });
  };

export const identityRulesFor: NonNullable<Cloud['identityRulesFor']> = (machine) => ({
  name: 'gcp',
  machineOf,
  immutableIdsOf,
  unservedScope: () => null,
  diskOf: diskOfInstance(machine),
});

/**
 * Returns the names under which the Node of an instance may be registered, likeliest first. GKE uses the instance's
 * name. Others use its host name, which is set by hand or is one of the internal DNS names.
 * https://cloud.google.com/compute/docs/internal-dns
 */
export const candidateNodeNames = ({ project, zone, instance }: InstancePath, hostname: string): readonly string[] => {
  const names = [instance, hostname, `${instance}.${zone}.c.${project}.internal`, `${instance}.c.${project}.internal`];
  return [...new Set(names)].filter((name) => name !== '');
};

/**
 * The label that GKE puts on the instances of its nodes.
 * https://cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels
 */
const CLUSTER = 'goog-k8s-cluster-name';

/** Returns the names of the clusters in an instance's labels. */
export const clusterNamesFromLabels = (
  labels: Readonly<Record<string, string>> | null | undefined,
): readonly string[] => {
  const name = labels?.[CLUSTER] ?? '';
  return name === '' ? [] : [name];
};
