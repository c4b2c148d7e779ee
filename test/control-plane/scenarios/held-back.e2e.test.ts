import { AttachVolumeCommand } from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STRATEGIC } from '../../testbed/api.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';
import { under } from '../../testbed/installation.ts';
import { turn } from '../../testbed/knobs.ts';
import { listOf, volumeAttachment } from '../../testbed/objects.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { openLone } from '../scenes/lone.ts';
import { powerOff } from '../scenes/power-off.ts';
import { openScene } from '../scenes/scene.ts';
import { expectUntouched, openStage } from '../scenes/stage.ts';
import { volumeName } from '../scenes/volume.ts';
import { worldOf, worldWith } from '../scenes/world.ts';
import { lonePod, OUT_OF_SERVICE, statefulSet, tolerating } from '../scenes/workload.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

interface Order {
  readonly what: string;
  readonly access: () => Promise<TestbedAccess>;
  readonly args: readonly string[];
  readonly says: object;
}

const orders: readonly Order[] = [
  {
    what: 'everything is paused',
    access: () => under(testbed.access, {}, { pause: 'the storage is being moved' }),
    args: [],
    says: { outcome: 'refused', reason: 'paused: paused: the storage is being moved', steps: [] },
  },
  {
    what: 'the policy delays a planned stop',
    access: () => under(testbed.access, { fenceAfter: '1h' }),
    args: ['--timeout', '10s'],
    says: { outcome: 'waiting', steps: [] },
  },
  {
    what: 'the install is in shadow mode',
    access: () => under(testbed.access, {}, { shadow: true }),
    args: [],
    says: { outcome: 'would-fence', dryRun: true },
  },
  {
    what: 'the request is a dry run',
    access: async () => testbed.access,
    args: ['--dry-run'],
    says: {
      outcome: 'would-fence',
      dryRun: true,
      steps: expect.arrayContaining([expect.objectContaining({ step: 'mark', result: 'dry-run' })]),
    },
  },
];

describe.concurrent('a machine that is off is not fenced if', () => {
  it.for(orders)('$what', async ({ access, args, says }) => {
    const stage = await openStage(testbed, 'held-back');
    await stage.home.stop();
    const answer = await cloudfence(await access(), 'fence', stage.home.instance, ...args);
    expect(answer.says).toMatchObject(says);
    await expectUntouched(stage);
  });

  it('someone requests its release, whether it is fenced or not', async () => {
    const { home, seen } = await openLone(testbed, 'release');
    const before = await seen();
    await home.stop();
    expect((await cloudfence(testbed.access, 'release', home.name)).says).toMatchObject({
      outcome: 'released',
      steps: [],
    });
    expect(await seen()).toEqual(before);
    expect((await cloudfence(testbed.access, 'fence', home.instance)).says.outcome).toBe('fenced');
    const fenced = await seen();
    expect((await cloudfence(testbed.access, 'release', home.name)).says).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(/^still-off/),
      steps: [],
    });
    expect(await seen()).toEqual(fenced);
  });
});

const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';
const BY_DRIVER = 'kubernetes.io/csi/ebs.csi.aws.com^';

describe.concurrent('if the policy is to detach at once', () => {
  it('a disk without a PersistentVolume stays with its machine, whatever the status of the Node says', async () => {
    const { scene, home, nodePath } = await openLone(testbed, 'unclaimed');
    const disk = await testbed.ec2.disk(null);
    await testbed.ec2.client.send(
      new AttachVolumeCommand({ VolumeId: disk, InstanceId: home.instance, Device: '/dev/sdz' }),
    );
    await testbed.admin.write(
      'PATCH',
      `${nodePath}/status`,
      { status: { volumesInUse: [`${BY_DRIVER}${disk}`] } },
      STRATEGIC,
    );
    await home.stop();
    const { says } = await cloudfence(await under(scene.testbed.access, { detach: 'always' }), 'fence', home.instance);
    expect(says.outcome).toBe('fenced');
    expect(says.left).toContainEqual({ what: `disk/${disk}`, why: 'it belongs to no PersistentVolume of this Node' });
    expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
  });

  it('a disk stays if a pod there still uses its volume, even if someone has deleted the attachment', async () => {
    const scene = await openScene(testbed, 'still-used');
    const home = await scene.addNode();
    const [kept] = [await scene.addClaim('kept'), await scene.addClaim('data-db-0')];
    await scene.create(lonePod('patient', { claims: ['kept'], spec: tolerating(OUT_OF_SERVICE) }));
    await scene.create(statefulSet('db'));
    await Promise.all([scene.runs('patient', home), scene.runs('db-0', home)]);
    const refuge = await scene.addRefuge();
    await turn(testbed.access, kept, { failDetach: 'the driver is out of order' });
    const { items } = listOf(volumeAttachment).parse(await testbed.admin.get(ATTACHMENTS));
    const own = items.find(({ spec }) => spec.source.persistentVolumeName === volumeName(scene.namespace, 'kept'));
    await testbed.admin.write('DELETE', `${ATTACHMENTS}/${own?.metadata.name}`);
    const { says } = await powerOff(
      { ...scene, testbed: { ...testbed, access: await under(testbed.access, { detach: 'always' }) } },
      home,
    );
    await scene.runs('db-0', refuge);
    expect(says.outcome).toBe('fenced');
    expect((await worldOf(scene)).volumes).toEqual({
      ...worldWith(scene, { 'data-db-0': refuge }, []).volumes,
      kept: { ec2: [home.name], kubernetes: [`${home.name} (going)`] },
    });
    await turn(testbed.access, kept, {});
  });
});
