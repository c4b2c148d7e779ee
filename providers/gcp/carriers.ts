import type { IdentityCarrier, MachineId } from '../../fencing/machine.ts';
import { INSTANCE_PATH, NUMERIC_ID, PROVIDER_ID, machineIdOf } from './paths.ts';

export const PD_DRIVER = 'pd.csi.storage.gke.io';

/**
 * The instance that a carrier names, by the path of its name; null for anything that is no instance of Compute Engine. The
 * Persistent Disk driver's node id is that path; a provider id is `gce://<project>/<zone>/<name>`, or the bare path.
 * https://github.com/kubernetes/cloud-provider-gcp
 */
export const machineOf = ({ carrier, driver, value }: IdentityCarrier): MachineId | null => {
  switch (carrier) {
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
  return project === undefined || zone === undefined || instance === undefined ? null : machineIdOf({ project, zone, instance });
};

/** The numeric id, which only the annotation that GKE writes carries: every other carrier is passed on with the name. */
export const incarnationsOf = ({ carrier, value }: IdentityCarrier): readonly string[] =>
  carrier === 'instanceIdAnnotation' && NUMERIC_ID.test(value) ? [value] : [];
