import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { expectMoved, openStage, type Stage } from '../scenes/stage.ts';
import { openStopwatch } from '../../testbed/stopwatch.ts';
import { until } from '../../testbed/until.ts';

/** What Kubernetes does by its own timers without Cloudfence. */
let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const WITHIN_MS = 600_000;

const movedByItself = ({ scene, refuge }: Stage) =>
  until(
    'the database runs elsewhere',
    async () =>
      scene.pods('db-0').find(({ spec, status }) => spec.nodeName === refuge.name && status.phase === 'Running'),
    WITHIN_MS,
  );

describe.concurrent('a stopped machine without Cloudfence', () => {
  it('keeps its volume forever if nobody does anything', async () => {
    const stage = await openStage(testbed, 'nothing');
    await stage.home.stop();
    await until(
      'its pod has been Terminating for long',
      async () => {
        const [found] = stage.scene.pods('db-0');
        return (
          found?.metadata.deletionTimestamp != null &&
          Date.now() - Date.parse(found.metadata.deletionTimestamp) > 100_000
        );
      },
      WITHIN_MS,
    );
    expect(await testbed.ec2.holderOf(stage.disk)).toBe(stage.home.instance);
    expect(stage.scene.pods('db-0').map(({ metadata }) => metadata.uid)).toEqual([stage.former]);
  });

  it('loses its volume by Kubernetes’ own timer of six minutes if only its Node is deleted', async () => {
    const stage = await openStage(testbed, 'node-only');
    await stage.home.stop();
    await testbed.admin.write('DELETE', `/api/v1/nodes/${stage.home.name}`);
    const watch = openStopwatch('only its Node deleted');
    const begun = performance.now();
    await watch.lap('running elsewhere', movedByItself(stage));
    watch.print();
    expect(performance.now() - begun).toBeGreaterThan(360_000);
    await expectMoved(stage, { gone: [stage.home] });
  });
});
