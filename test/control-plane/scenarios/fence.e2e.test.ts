import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { Database } from '../scenes/database.ts';
import { addDatabase } from '../scenes/database.ts';
import { cloudfence, deliver, stateChanges } from '../entry-points/programs.ts';
import { openStopwatch } from '../../testbed/stopwatch.ts';

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const QUARANTINE = 'cloudfence.dev/quarantine';
const LABEL = 'cloudfence.node-restriction.kubernetes.io/fenced';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** The volume is attached only to the refuge, and a pod that is not the old one runs there. */
const expectMoved = async (
  { disk, refuge, attachedTo, runsOn }: Database,
  formerPod: string | undefined,
): Promise<void> => {
  const pod = await runsOn(refuge);
  expect(pod.metadata.uid).not.toBe(formerPod);
  expect(await testbed.ec2.holderOf(disk)).toBe(refuge.instance);
  expect(await attachedTo()).toEqual([refuge.name]);
};

const expectParked = async ({ home, readNode }: Database): Promise<void> => {
  const { spec, metadata } = await readNode(home);
  const keys = spec.taints.map(({ key }) => key);
  expect([keys.includes(QUARANTINE), keys.includes(OUT_OF_SERVICE)]).toEqual([true, false]);
  expect(JSON.parse(metadata.annotations['cloudfence.dev/fence'] ?? '')).toMatchObject({
    phase: 'fenced',
    machine: home.instance,
    fence: metadata.labels[LABEL],
  });
};

describe.concurrent('a StatefulSet with one volume', () => {
  it('moves to the other node once its instance is stopped and the CLI is run', async () => {
    const database = await addDatabase(testbed);
    const former = database.pod()?.metadata.uid;
    await database.home.stop();
    const watch = openStopwatch('stopped, by the CLI');
    const answering = watch.lap('answer', cloudfence(testbed.access, 'fence', database.home.instance));
    const [answer] = await Promise.all([
      answering,
      watch.lap('attached elsewhere', database.movedTo(database.refuge)),
      watch.lap('running elsewhere', database.runsOn(database.refuge)),
    ]);
    expect(answer).toMatchObject({ code: 0, says: { outcome: 'fenced' } });
    watch.print();
    await expectMoved(database, former);
    await expectParked(database);
  });

  it('moves when its instance is terminated, and the Node goes last', async () => {
    const database = await addDatabase(testbed);
    const former = database.pod()?.metadata.uid;
    await database.home.terminate();
    const watch = openStopwatch('terminated, by the CLI');
    const answering = watch.lap('answer', cloudfence(testbed.access, 'fence', database.home.instance));
    const [{ code, says }] = await Promise.all([
      answering,
      watch.lap('running elsewhere', database.runsOn(database.refuge)),
    ]);
    watch.print();
    expect({ code, outcome: says.outcome, last: says.steps.at(-1)?.step }).toEqual({
      code: 0,
      outcome: 'fenced',
      last: 'delete-node',
    });
    await expectMoved(database, former);
    expect((await testbed.admin.call('GET', `/api/v1/nodes/${database.home.name}`)).status).toBe(404);
  });

  it('moves when the AWS handler gets the events, including late ones and duplicates', async () => {
    const database = await addDatabase(testbed);
    const former = database.pod()?.metadata.uid;
    await database.home.stop();
    const watch = openStopwatch('stopped, by the AWS handler');
    const batch = stateChanges(database.home.instance, ['stopping', 'stopped', 'stopped'], testbed.access.ec2);
    expect(await watch.lap('answer', deliver(testbed.access, batch))).toEqual({ batchItemFailures: [] });
    await watch.lap('running elsewhere', database.runsOn(database.refuge));
    watch.print();
    await expectMoved(database, former);
    await expectParked(database);
    expect(await deliver(testbed.access, batch)).toEqual({ batchItemFailures: [] });
    await expectParked(database);
  });

  it('stays where it is while its instance runs, whatever the event says', async () => {
    const database = await addDatabase(testbed);
    const former = database.pod()?.metadata.uid;
    expect(
      await deliver(testbed.access, stateChanges(database.home.instance, ['stopped'], testbed.access.ec2)),
    ).toEqual({
      batchItemFailures: [],
    });
    expect(await testbed.ec2.holderOf(database.disk)).toBe(database.home.instance);
    expect(database.pod()?.metadata.uid).toBe(former);
    expect((await database.readNode(database.home)).spec.taints).toEqual([]);
  });
});
