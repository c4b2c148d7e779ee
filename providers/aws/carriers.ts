import type { UnservedPlace } from '../../fencing/cloud.ts';
import type { IdentityCarrier, MachineId } from '../../fencing/machine.ts';
import { INSTANCE_ID } from './ids.ts';

/** The driver that people install, and the one that EKS Auto Mode brings: both call a machine and a volume by EC2's own ids. */
const EBS_DRIVERS: ReadonlySet<string> = new Set(['ebs.csi.aws.com', 'ebs.csi.eks.amazonaws.com']);

export const isEbs = (driver: string | null): boolean => driver !== null && EBS_DRIVERS.has(driver);

/** `aws:///<zone>/<id>`, `aws:////<id>` or the bare id. https://github.com/kubernetes/cloud-provider-aws */
const PROVIDER_ID = /^(?:aws:\/\/\/[^/]*\/)?([^/]+)$/;

/**
 * The instance that a carrier names; null for anything that is no EC2 instance, such as Fargate or another cloud.
 * The EBS driver's node id is the instance id.
 */
export const machineOf = ({ carrier, driver, value }: IdentityCarrier): MachineId | null => {
  switch (carrier) {
    case 'providerID':
      return instanceId(PROVIDER_ID.exec(value)?.[1]);
    case 'instanceIdAnnotation':
      return instanceId(value);
    case 'systemUUID':
      return null;
    case 'csiNode':
    case 'nodeIdAnnotation':
    case 'volumeAttachment':
      return isEbs(driver) ? instanceId(value) : null;
  }
};

const instanceId = (text: string | undefined): MachineId | null => (text !== undefined && INSTANCE_ID.test(text) ? text : null);

const ZONE_OF = /^aws:\/\/\/([^/]+)\/[^/]+$/;

/** `eu-west-1` of `eu-west-1a`, and of a local zone such as `us-west-2-lax-1a`. */
const REGION_OF = /^[a-z]+(?:-[a-z]+)+-\d+/;

/** A providerID names the zone, and so the region; no carrier names the account. */
export const unservedPlace = ({ carrier, value }: IdentityCarrier, region: string): UnservedPlace | null => {
  const zone = carrier === 'providerID' ? ZONE_OF.exec(value)?.[1] : undefined;
  if (zone === undefined) return null;
  const named = REGION_OF.exec(zone)?.[0] ?? zone;
  return named === region ? null : { place: named, mend: `add ${named} to \`territories\` (docs/aws.md, "Accounts and regions"), or install Cloudfence there` };
};
