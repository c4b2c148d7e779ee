import { EC2Client, type Instance, type Volume } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { askWitnesses, attachedDisks, isAttachedTo, viewDisks, viewDisksOfAll } from '../../../providers/aws/disks.ts';
import { answerXml, xmlList } from '../../../sandbox/ec2/render.ts';
import { clientOf, ec2World, patient } from '../../sandbox/ec2/ec2-world.ts';

/** What an instance and its volumes say about each other, field by field. */

const machine = 'i-0633ac2b0d9769723';
const other = 'i-00000000000000001';
const on = (InstanceId: string, more: object = {}) => ({ InstanceId, Device: '/dev/xvdz', State: 'attached', ...more });
const volumeOn = (attachments: readonly object[], more: object = {}): Volume =>
  Object.assign<Volume, object>({ VolumeId: 'vol-1' }, { Attachments: attachments, ...more });
const instance: Instance = { RootDeviceName: '/dev/xvda' };
const mapped = (Status: 'attached' | 'detached' | 'detaching', DeviceName = '/dev/xvdz'): Instance => ({
  ...instance,
  BlockDeviceMappings: [{ DeviceName, Ebs: { VolumeId: 'vol-1', Status } }],
});

describe('a disk that itself names the machine', () => {
  it.each(['attaching', 'attached', 'detaching', 'busy'])('is %s, and may be detached', (state) => {
    const volume = volumeOn([on(machine, { State: state })]);
    expect(attachedDisks(machine, instance, [volume])).toEqual([{ disk: 'vol-1', state, keep: null }]);
  });

  const kept = (
    attachment: object,
    more: object = {},
    about: Instance | null = instance,
    others: readonly object[] = [],
  ) => attachedDisks(machine, about, [volumeOn([on(machine, attachment), ...others], more)]).map(({ keep }) => keep);
  const shared = 'attached to several instances, or a Multi-Attach volume';

  it('is kept for each of these reasons', () => {
    expect(kept({}, {}, null)).toEqual(['EC2 does not know the instance, so its root device is unknown']);
    expect(kept({}, {}, {})).toEqual(['root device']);
    expect(kept({ Device: '/dev/xvda' })).toEqual(['root device']);
    expect(kept({ Device: '/dev/xvdaa' })).toEqual([null]);
    expect(kept({}, { MultiAttachEnabled: true })).toEqual([shared]);
    expect(kept({}, {}, instance, [on(other)])).toEqual([shared]);
    expect(kept({}, {}, { ...instance, Operator: { Managed: true } })).toEqual(['managed by AWS']);
    expect(kept({}, { Operator: { Managed: true } })).toEqual(['managed by AWS']);
    expect(kept({ AssociatedResource: 'arn' })).toEqual(['managed by AWS']);
    expect(kept({ State: 'new' })).toEqual(['EC2 reports the unknown state new']);
    expect(kept({ State: undefined })).toEqual(['EC2 reports the unknown state undefined']);
    expect(kept({})).toEqual([null]);
  });

  it('is attached, and kept, if its state is unknown', () => {
    const keep = 'EC2 reports the unknown state new';
    expect(attachedDisks(machine, instance, [volumeOn([on(machine, { State: 'new' })])])).toEqual([
      { disk: 'vol-1', state: 'attached', keep },
    ]);
  });

  it('is believed, even if the machine says less', () => {
    const volume = volumeOn([on(machine, { State: 'detaching' })]);
    expect(attachedDisks(machine, mapped('attached'), [volume])).toEqual([
      { disk: 'vol-1', state: 'detaching', keep: null },
    ]);
    expect(attachedDisks(machine, mapped('attached'), [volumeOn([on(machine, { State: 'detached' })])])).toEqual([]);
  });

  it('is not listed if it names another machine, or is detached', () => {
    const volumes = [volumeOn([on(other)]), volumeOn([on(machine, { State: 'detached' })]), volumeOn([])];
    expect(attachedDisks(machine, instance, volumes)).toEqual([]);
    expect(volumes.map((volume) => isAttachedTo(volume, machine))).toEqual([false, false, false]);
    expect([isAttachedTo({}, machine), isAttachedTo(volumeOn([on(machine)]), machine)]).toEqual([false, true]);
  });
});

it('a disk that only the machine names is listed, but must be kept', () => {
  const only = (about: Instance) => attachedDisks(machine, about, [volumeOn([on(other)])]);
  const why = 'the disk itself does not report this attachment';
  expect(only(mapped('attached'))).toEqual([{ disk: 'vol-1', state: 'attached', keep: why }]);
  expect(only(mapped('detaching'))).toEqual([{ disk: 'vol-1', state: 'detaching', keep: why }]);
  expect(only(mapped('attached', '/dev/xvda'))).toEqual([{ disk: 'vol-1', state: 'attached', keep: 'root device' }]);
  expect(only(mapped('attached', '/dev/xvdaa'))).toEqual([{ disk: 'vol-1', state: 'attached', keep: why }]);
  expect(only(mapped('detached'))).toEqual([]);
  expect(only({ ...instance, BlockDeviceMappings: [{ DeviceName: '/dev/xvdz' }] })).toEqual([]);
  expect(attachedDisks(machine, null, [])).toEqual([]);
});

type Answered = Parameters<typeof xmlList>[0];

/** An EC2 that always answers with these volumes. */
const answering = (volumes: Answered): EC2Client => {
  const xml = answerXml('DescribeVolumes', 'request', { volumeSet: xmlList(volumes) });
  const handler = {
    handle: async () => ({ response: { statusCode: 200, headers: {}, body: new TextEncoder().encode(xml) } }),
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  return new EC2Client({ region: 'eu-central-1', credentials, requestHandler: handler });
};

const [one, two] = ['vol-00000000000000001', 'vol-00000000000000002'];
const free = (volumeId: string) => ({ volumeId, status: 'available', attachmentSet: xmlList([]) });
const attachedTo = (instanceId: string, status: string | null = 'attached') => ({
  volumeId: one,
  status: 'in-use',
  attachmentSet: xmlList([{ instanceId, ...(status !== null && { status }) }]),
});

describe('an answer about volumes', () => {
  const ask = (volumes: Answered, disks: readonly string[]) =>
    askWitnesses(answering(volumes), machine, disks, patient());

  it.each([
    ['omits one', [free(one)], [one, two]],
    ['has one twice in the place of another', [free(one), free(one)], [one, two]],
    ['has one twice', [free(one), free(one), free(two)], [one, two]],
    ['has another', [free(two)], [one]],
  ])('is an error if it %s', async (_, volumes, disks) => {
    await expect(ask(volumes, disks)).rejects.toBeInstanceOf(Unavailable);
    await expect(ask(volumes, disks)).rejects.toThrow('ec2:DescribeVolumes does not contain every requested volume');
  });

  it('may contain more than what was requested', async () => {
    expect(await ask([free(one), { ...attachedTo(machine), volumeId: two }], [one])).toBe('released');
    expect(await ask([], [])).toBe('none');
  });

  it.each([
    ['i-0123456789abcdef0', 'released'],
    ['i-01234567', 'released'],
    ['i-012345678', 'none'],
    ['i-0123456789abcdef01', 'none'],
    ['i-0123456', 'none'],
    ['xi-01234567', 'none'],
    ['i-0123456g', 'none'],
    ['i-0123456789abcdefg', 'none'],
  ])('names a holder by its whole ID, or is unclear (%s)', async (holder, witness) => {
    expect(await ask([attachedTo(holder)], [one])).toBe(witness);
  });

  it('is unclear if an attachment has no state, or is detaching without a holder', async () => {
    expect(await ask([attachedTo(other, null)], [one])).toBe('none');
    expect(await ask([{ ...attachedTo(other, 'detached'), status: 'available' }], [one])).toBe('released');
    expect(await ask([{ ...attachedTo(other), status: 'available' }], [one])).toBe('none');
    const half = {
      ...attachedTo(other),
      attachmentSet: xmlList([
        { instanceId: other, status: 'attached' },
        { instanceId: 'x', status: 'attached' },
      ]),
    };
    expect(await ask([half], [one])).toBe('none');
  });
});

describe('what a diagnosis reads about volumes', () => {
  const handle = (value: string) => ({ driver: 'ebs.csi.aws.com', handle: value });
  const since = '2026-11-21T08:00:00.000Z';

  it('is what each volume says about itself', async () => {
    const held = {
      volumeId: one,
      status: 'in-use',
      availabilityZone: 'eu-central-1a',
      multiAttachEnabled: 'true',
      attachmentSet: xmlList([
        { instanceId: other, status: 'attached', attachTime: since },
        { instanceId: machine, status: 'detached' },
      ]),
    };
    expect(await viewDisks(answering([held, free(two)]), [handle(one), handle(two), handle(one)], patient())).toEqual([
      {
        disk: one,
        exists: true,
        state: 'in-use',
        zone: 'eu-central-1a',
        shared: true,
        holders: [{ machine: other, state: 'attached', since: Date.parse(since) }],
        free: false,
      },
      { disk: two, exists: true, state: 'available', zone: null, shared: false, holders: [], free: true },
    ]);
    const unknown = { disk: one, exists: false, state: '', zone: null, shared: false, holders: [], free: false };
    expect(await viewDisks(clientOf(ec2World()), [handle(one)], patient())).toEqual([unknown]);
    const nobodys = { driver: 'another', handle: one };
    expect(await viewDisks(answering([]), [nobodys], patient())).toEqual([]);
  });

  it('is the answer of the territory that knows the volume, or else any', async () => {
    const view = (disk: string, exists: boolean, state: string) =>
      ({ disk, exists, state, zone: null, shared: false, holders: [], free: false }) as const;
    const territories = [
      async () => [view(one, false, 'first'), view(two, false, 'first')],
      async () => [view(one, true, 'second'), view(two, false, 'second')],
    ];
    expect(await viewDisksOfAll(territories)([], patient())).toEqual([
      view(one, true, 'second'),
      view(two, false, 'first'),
    ]);
  });
});
