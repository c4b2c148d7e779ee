import { describe, expect, it } from 'vitest';
import type { IdentityCarrier } from '../../../fencing/machine.ts';
import { machineOf } from '../../../providers/aws/carriers.ts';
import { diskOf } from '../../../providers/aws/disks.ts';
import { clustersIn } from '../../../providers/aws/cluster-tags.ts';
import { nodeNamesOf } from '../../../providers/aws/node-names.ts';

const id = 'i-0633ac2b0d9769723';
const disk = 'vol-0633ac2b0d9769723';

describe('the machine that a carrier names', () => {
  it.each([
    [`aws:///eu-central-1a/${id}`, id],
    [`aws:////${id}`, id],
    [id, id],
    ['i-abcd1111', 'i-abcd1111'],
    ['aws:///eu-central-1a/fargate-10-0-0-1', null],
    ['aws:///eu-central-1a/I-0633AC2B0D9769723', null],
    [`aws:///eu-central-1a/${id}/more`, null],
    [`aws:///eu-central-1a/${id} `, null],
    [`azure:///${id}`, null],
    [`gce://project/zone/${id}`, null],
    ['k3s://node-1', null],
    ['', null],
  ])('providerID %s names %s', (value, machine) => {
    expect(machineOf({ carrier: 'providerID', driver: null, value })).toBe(machine);
  });

  it.each(['csiNode', 'nodeIdAnnotation', 'volumeAttachment'] as const)('%s counts when the EBS driver wrote it', (carrier) => {
    const written = (driver: string | null, value: string): IdentityCarrier => ({ carrier, driver, value });
    expect(machineOf(written('ebs.csi.aws.com', id))).toBe(id);
    expect(machineOf(written('ebs.csi.aws.com', 'node-1'))).toBeNull();
    expect(machineOf(written('disk.csi.azure.com', id))).toBeNull();
    expect(machineOf(written(null, id))).toBeNull();
  });
});

describe('the disk behind a volume handle', () => {
  it.each([
    ['ebs.csi.aws.com', disk, disk],
    ['ebs.csi.aws.com', `aws://eu-central-1a/${disk}`, disk],
    ['ebs.csi.aws.com', 'local-ebs://dev/xvdb', null],
    ['ebs.csi.aws.com', 'snap-0633ac2b0d9769723', null],
    ['efs.csi.aws.com', disk, null],
  ])('%s %s is %s', (driver, handle, expected) => {
    expect(diskOf({ driver, handle })).toBe(expected);
  });
});

describe('names and clusters of a machine', () => {
  it('tries the private DNS name first, in lower case', () => {
    expect(nodeNamesOf(id, 'IP-10-0-0-1.ec2.internal', 'us-east-1')).toEqual([
      'ip-10-0-0-1.ec2.internal',
      `${id}.us-east-1.compute.internal`,
      `${id}.ec2.internal`,
      id,
    ]);
  });

  it('knows names of a terminated machine, which has no private DNS name any more', () => {
    expect(nodeNamesOf(id, '', 'cn-north-1')).toEqual([`${id}.cn-north-1.compute.internal`, id]);
  });

  it('hears of clusters from ownership tags and from the tag of EKS, once each', () => {
    const tags = [
      { Key: 'kubernetes.io/cluster/blue', Value: 'owned' },
      { Key: 'kubernetes.io/cluster/green', Value: 'shared' },
      { Key: 'kubernetes.io/cluster/grey', Value: 'no' },
      { Key: 'kubernetes.io/cluster/', Value: 'owned' },
      { Key: 'aws:eks:cluster-name', Value: 'blue' },
      { Key: 'Name', Value: 'blue-1' },
    ];
    expect(clustersIn(tags)).toEqual(['blue', 'green']);
  });
});
