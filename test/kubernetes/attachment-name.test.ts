import { expect, it } from 'vitest';
import { attachmentFacts, attachmentName } from '../../kubernetes/attachments.ts';
import { parseUniqueVolumeName } from '../../kubernetes/volumes.ts';

it('computes the name that Kubernetes gives a VolumeAttachment', () => {
  const volume = { driver: 'ebs.csi.aws.com', handle: 'vol-0123456789abcdef0' };
  expect(attachmentName(volume, 'ip-10-0-0-1.ec2.internal')).toBe(
    'csi-fe06e9b7f0788d36d037dc072e698d0df29ffac77397761bb77014101d61709d',
  );
});

it.each([
  ['kubernetes.io/csi/ebs.csi.aws.com^vol-1', { driver: 'ebs.csi.aws.com', handle: 'vol-1' }],
  [
    'kubernetes.io/csi/disk.csi.azure.com^/subscriptions/S/disks/a^b',
    { driver: 'disk.csi.azure.com', handle: '/subscriptions/S/disks/a^b' },
  ],
  ['kubernetes.io/aws-ebs/aws://z/vol-1', null],
  ['kubernetes.io/csi/no-handle', null],
])('reads the unique volume name %s', (name, volume) => {
  expect(parseUniqueVolumeName(name)).toEqual(volume);
});

it('treats an attachment without a status as not attached', () => {
  const spec = { attacher: 'a-driver', nodeName: 'n', source: { persistentVolumeName: 'data' } };
  expect(attachmentFacts({ metadata: { name: 'csi-1', uid: 'u' }, spec })).toEqual({
    name: 'csi-1',
    uid: 'u',
    attached: false,
    created: 0,
    deletingSince: null,
    detachError: null,
    attachError: null,
    nudged: false,
    source: null,
  });
});

it('reads when an attachment was created, and since when it is being deleted', () => {
  const spec = { attacher: 'a-driver', nodeName: 'n', source: { persistentVolumeName: 'data' } };
  const [created, deletingSince] = [Date.UTC(2026, 10, 20), Date.UTC(2026, 10, 21)];
  const metadata = { creationTimestamp: new Date(created), deletionTimestamp: new Date(deletingSince) };
  expect(attachmentFacts({ metadata, spec })).toMatchObject({ created, deletingSince });
});

it('gives an attachment without metadata an empty name', () => {
  const spec = { attacher: 'a-driver', nodeName: 'n', source: { persistentVolumeName: 'data' } };
  expect(attachmentFacts({ spec })).toMatchObject({ name: '', uid: '' });
});
