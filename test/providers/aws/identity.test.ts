import { describe, expect, it } from 'vitest';
import type { IdentitySource } from '../../../fencing/model/machine.ts';
import {
  clusterNamesFromTags,
  diskOf,
  machineOf,
  candidateNodeNames,
  unservedScope,
} from '../../../providers/aws/identity.ts';

const id = 'i-0633ac2b0d9769723';
const disk = 'vol-0633ac2b0d9769723';

describe('the machine that an identity source names', () => {
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
    [`xaws:///eu-central-1a/${id}`, null],
    [`aws:///eu-central-1a/${id}0`, null],
    ['i-0633ac2b', 'i-0633ac2b'],
    ['i-0633ac2', null],
    ['i-0633ac2g', null],
    [`x${id}`, null],
    ['k3s://node-1', null],
    ['', null],
  ])('providerID %s names %s', (value, machine) => {
    expect(machineOf({ source: 'providerID', driver: null, value })).toBe(machine);
  });

  it('is read from an annotation that a person sets, and never from the system UUID', () => {
    expect(machineOf({ source: 'instanceIdAnnotation', driver: null, value: id })).toBe(id);
    expect(machineOf({ source: 'instanceIdAnnotation', driver: null, value: `aws:////${id}` })).toBeNull();
    expect(machineOf({ source: 'systemUUID', driver: null, value: id })).toBeNull();
  });

  it.each(['csiNode', 'nodeIdAnnotation', 'volumeAttachment'] as const)(
    '%s counts if the EBS driver wrote it',
    (source) => {
      const written = (driver: string | null, value: string): IdentitySource => ({ source, driver, value });
      expect(machineOf(written('ebs.csi.aws.com', id))).toBe(id);
      expect(machineOf(written('ebs.csi.eks.amazonaws.com', id))).toBe(id);
      expect(machineOf(written('ebs.csi.aws.com', 'node-1'))).toBeNull();
      expect(machineOf(written('disk.csi.azure.com', id))).toBeNull();
      expect(machineOf(written('ebs.csi.example.com', id))).toBeNull();
      expect(machineOf(written('ebs.csi.aws.com.example.com', id))).toBeNull();
      expect(machineOf(written(null, id))).toBeNull();
    },
  );
});

describe('the disk behind a volume handle', () => {
  it.each([
    ['ebs.csi.aws.com', disk, disk],
    ['ebs.csi.eks.amazonaws.com', disk, disk],
    ['ebs.csi.aws.com', `aws://eu-central-1a/${disk}`, disk],
    ['ebs.csi.aws.com', `aws:///${disk}`, disk],
    ['ebs.csi.aws.com', `xaws://eu-central-1a/${disk}`, null],
    ['ebs.csi.aws.com', `aws://eu-central-1a/${disk}/more`, null],
    ['ebs.csi.aws.com', `x${disk}`, null],
    ['ebs.csi.aws.com', `${disk}0`, null],
    ['ebs.csi.aws.com', 'vol-0633ac2', null],
    ['ebs.csi.aws.com', 'vol-0633ac2b', 'vol-0633ac2b'],
    ['ebs.csi.aws.com', 'vol-0633ac2g', null],
    ['ebs.csi.aws.com', 'local-ebs://dev/xvdb', null],
    ['ebs.csi.aws.com', 'snap-0633ac2b0d9769723', null],
    ['efs.csi.aws.com', disk, null],
  ])('%s %s is %s', (driver, handle, expected) => {
    expect(diskOf({ driver, handle })).toBe(expected);
  });
});

describe('names and clusters of a machine', () => {
  it('are its private DNS name first, in lower case', () => {
    expect(candidateNodeNames(id, 'IP-10-0-0-1.ec2.internal', 'us-east-1')).toEqual([
      'ip-10-0-0-1.ec2.internal',
      `${id}.us-east-1.compute.internal`,
      `${id}.ec2.internal`,
      id,
    ]);
  });

  it('are known for a terminated machine, which no longer has a private DNS name', () => {
    expect(candidateNodeNames(id, undefined, 'cn-north-1')).toEqual([`${id}.cn-north-1.compute.internal`, id]);
    expect(candidateNodeNames(id, '', 'cn-north-1')).toEqual([`${id}.cn-north-1.compute.internal`, id]);
  });

  it('include each cluster in its ownership tags and in the tag of EKS once', () => {
    const tags = [
      { Key: 'kubernetes.io/cluster/blue', Value: 'owned' },
      { Key: 'kubernetes.io/cluster/green', Value: 'shared' },
      { Key: 'kubernetes.io/cluster/grey', Value: 'no' },
      { Key: 'kubernetes.io/cluster/', Value: 'owned' },
      { Key: 'aws:eks:cluster-name', Value: 'blue' },
      { Key: 'Name', Value: 'blue-1' },
      { Key: 'Name', Value: 'owned' },
      { Key: 'aws:eks:cluster-name', Value: '' },
      { Key: 'aws:eks:cluster-name' },
      { Value: 'owned' },
      {},
    ];
    expect(clusterNamesFromTags(tags)).toEqual(['blue', 'green']);
    expect(clusterNamesFromTags([{ Key: 'aws:eks:cluster-name', Value: 'red' }])).toEqual(['red']);
  });
});

describe('an account or region that is not served', () => {
  const at = (value: string, source: 'providerID' | 'csiNode' = 'providerID') =>
    unservedScope({ source, driver: source === 'csiNode' ? 'ebs.csi.aws.com' : null, value }, 'eu-west-1');
  it.each([
    ['aws:///eu-central-1a/i-0123456789abcdef0', 'eu-central-1'],
    ['aws:///eu-west-10a/i-0123456789abcdef0', 'eu-west-10'],
    ['aws:///us-west-2-lax-1a/i-0123456789abcdef0', 'us-west-2'],
    ['aws:///us-gov-west-1b/i-0123456789abcdef0', 'us-gov-west-1'],
    ['aws:///somewhere/i-0123456789abcdef0', 'somewhere'],
    ['aws:///1us-west-2a/i-0123456789abcdef0', '1us-west-2a'],
    ['aws:///us-2a/i-0123456789abcdef0', 'us-2a'],
  ])('is recognized by the zone of %s', (value, place) => {
    expect(at(value, 'csiNode')).toBeNull();
    expect(at(value)).toEqual({ scope: place, remedy: expect.stringMatching(new RegExp(`${place}.*territories`)) });
  });

  it.each([
    'aws:///eu-west-1a/i-0123456789abcdef0',
    'aws:///eu-west-1-ber-1a/i-0123456789abcdef0',
    'aws:////i-0123456789abcdef0',
    'xaws:///eu-central-1a/i-0123456789abcdef0',
    'aws:///eu-central-1a/i-0123456789abcdef0/more',
    'aws:///eu-central-1a/',
    'i-0123456789abcdef0',
    'gce://p/z/n',
  ])('is not recognized in %s', (value) => {
    expect(at(value)).toBeNull();
    expect(at(value, 'csiNode')).toBeNull();
  });
});
