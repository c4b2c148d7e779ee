import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { addDatabase, type Database } from '../scenes/database.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { turn } from '../../testbed/knobs.ts';
import { listOf, volumeAttachment } from '../../testbed/objects.ts';
import { openStopwatch } from '../../testbed/stopwatch.ts';
import { until } from '../../testbed/until.ts';

const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';
const NUDGE = 'cloudfence.dev/nudge';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** Only the volumes of this database, because those of others on the same control plane come and go. */
const nudgedOnes = async ({ home, refuge }: Database) =>
  listOf(volumeAttachment)
    .parse(await testbed.admin.get(ATTACHMENTS))
    .items.filter(
      ({ metadata, spec }) =>
        metadata.annotations[NUDGE] !== undefined && [home.name, refuge.name].includes(spec.nodeName),
    );

describe.concurrent('a volume that its driver cannot detach', () => {
  it('is detached through the cloud, and the attacher is nudged out of its back-off', async () => {
    const database = await addDatabase(testbed);
    await turn(testbed.access, database.disk, { failDetach: 'the driver is out of order' });
    await database.home.stop();
    const watch = openStopwatch('stopped, the driver out of order until the disk is free');
    const answering = watch.lap('answer', cloudfence(testbed.access, 'fence', database.home.instance));
    const mended = watch
      .lap(
        'free at EC2',
        until('the disk is free', async () => (await testbed.ec2.holderOf(database.disk)) !== database.home.instance),
      )
      .then(() => turn(testbed.access, database.disk, {}));
    const [{ code, says }] = await Promise.all([
      answering,
      mended,
      watch.lap('running elsewhere', database.runsOn(database.refuge)),
    ]);
    watch.print();
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    expect(says.steps.map(({ step }) => step)).toEqual(expect.arrayContaining(['detach-disk', 'nudge']));
    expect(await testbed.ec2.holderOf(database.disk)).toBe(database.refuge.instance);
    expect(await database.attachedTo()).toEqual([database.refuge.name]);
    expect(await nudgedOnes(database)).toEqual([]);
  });
});

describe.concurrent('a Node that someone deletes right after the power-off', () => {
  it('does not keep its volume from moving', async () => {
    const database = await addDatabase(testbed);
    await database.home.stop();
    await testbed.admin.write('DELETE', `/api/v1/nodes/${database.home.name}`);
    const watch = openStopwatch('stopped, its Node deleted by somebody');
    const answering = watch.lap('answer', cloudfence(testbed.access, 'fence', database.home.instance));
    const [{ code, says }] = await Promise.all([
      answering,
      watch.lap('running elsewhere', database.runsOn(database.refuge)),
    ]);
    watch.print();
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    expect(await testbed.ec2.holderOf(database.disk)).toBe(database.refuge.instance);
    expect(await database.attachedTo()).toEqual([database.refuge.name]);
  });
});

describe.concurrent('a machine that stops while a volume is being attached to it', () => {
  it('does not keep it', async () => {
    const database = await addDatabase(testbed);
    const { home, refuge, disk, namespace } = database;
    const unschedulable = (name: string, on: boolean | null) =>
      testbed.admin.write('PATCH', `/api/v1/nodes/${name}`, { spec: { unschedulable: on } });
    await turn(testbed.access, disk, { delayMs: 5_000 });
    await unschedulable(home.name, true);
    await testbed.admin.write('DELETE', `/api/v1/namespaces/${namespace}/pods/db-0`);
    await until('the attach to the other node is under way', async () => {
      const { items } = listOf(volumeAttachment).parse(await testbed.admin.get(ATTACHMENTS));
      return items.some(({ spec, status }) => spec.nodeName === refuge.name && !status.attached);
    });
    await unschedulable(home.name, null);
    await refuge.stop();
    const watch = openStopwatch('stopped in the middle of an attach that takes six seconds');
    const answering = watch.lap('answer', cloudfence(testbed.access, 'fence', refuge.instance));
    const [answer] = await Promise.all([answering, watch.lap('running elsewhere', database.runsOn(home))]);
    watch.print();
    expect(answer).toMatchObject({ code: 0, says: { outcome: 'fenced' } });
    expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
    expect(await database.attachedTo()).toEqual([home.name]);
  });
});
