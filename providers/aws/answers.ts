import type { Volume } from '@aws-sdk/client-ec2';
import { Unavailable } from '../../fencing/errors.ts';

/**
 * What makes an answer EC2's own. The SDK takes any XML for an answer, a proxy's page and an empty body included, and leaves
 * out what it does not find there: so what EC2 always says has to be there.
 */

/** EC2 lists what it found, and be it nothing. @throws Unavailable */
export const listed = <T>(items: readonly T[] | undefined, call: string): readonly T[] => {
  if (items) return items;
  throw new Unavailable(`${call} was answered without a list: this is no answer of EC2`);
};

/** A volume says where it is attached, and be it nowhere. @throws Unavailable */
export const wholeVolumes = (volumes: readonly Volume[] | undefined): readonly Volume[] => {
  const all = listed(volumes, 'ec2:DescribeVolumes');
  if (all.every(({ VolumeId, Attachments }) => VolumeId !== undefined && Attachments !== undefined)) return all;
  throw new Unavailable('ec2:DescribeVolumes was answered with a volume that does not say where it is attached: this is no answer of EC2');
};
