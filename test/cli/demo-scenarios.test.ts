import { describe, expect, it } from 'vitest';
import { QUARANTINE, OUT_OF_SERVICE, EVENT_REPORTER } from '../../kubernetes/names.ts';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { played } from './demo-stage.ts';

type Played = Awaited<ReturnType<typeof played>>;

const volumeOf = ({ lanes, story }: Played) => volumeIn(lanes.fenced.world, story.volume)?.attachments;
const pod = ({ lanes }: Played, name = 'db-0') => getObject(lanes.fenced.world, 'pods', name, 'default');
const node = ({ lanes, story }: Played) => getObject(lanes.fenced.world, 'nodes', story.node);
const at = ({ lanes }: Played, name: string): number => lanes.fenced.reached.get(name) ?? Number.NaN;

describe('the demo, in the world with Cloudfence', () => {
  it('moves the database of a stopped machine within seconds, and leaves its Node fenced', async () => {
    const end = await played('stopped');
    expect(volumeOf(end)).toMatchObject([{ instance: end.story.spare, state: 'attached' }]);
    expect(pod(end)).toMatchObject({
      status: { phase: 'Running' },
      spec: { nodeName: end.story.nodeOf(end.story.spare) },
    });
    const keys = node(end)?.spec.taints?.map(({ key }) => key) ?? [];
    expect([keys.includes(QUARANTINE.key), keys.includes(OUT_OF_SERVICE.key)]).toEqual([true, false]);
    expect(at(end, 'new-pod-running')).toBeLessThan(15_000);
    expect(end.lanes.fenced.world.parts.ec2.violations).toEqual([]);
    expect(end.verdict.right).toBe(true);
  });

  it('deletes the Node of a terminated machine last', async () => {
    const end = await played('terminated');
    expect(volumeOf(end)).toMatchObject([{ instance: end.story.spare, state: 'attached' }]);
    expect(node(end)).toBeUndefined();
    expect(at(end, 'node-gone')).toBeGreaterThanOrEqual(at(end, 'old-attachment-gone'));
    expect(at(end, 'new-pod-running')).toBeLessThan(15_000);
    expect(end.verdict.right).toBe(true);
  });

  it('does not touch a machine that runs but is cut off, and says why', async () => {
    const end = await played('partition');
    expect(instanceIn(end.lanes.fenced.world, end.story.holder)).toMatchObject({
      state: 'running',
      mounts: [end.story.volume],
    });
    expect(volumeOf(end)).toMatchObject([{ instance: end.story.holder, state: 'attached' }]);
    expect(pod(end)?.metadata.uid).toBe(end.story.podUid);
    const event = listObjects(end.lanes.fenced.world, 'events').find(
      ({ reportingController }) => reportingController === EVENT_REPORTER,
    );
    expect(event).toMatchObject({
      reason: 'FencingRefused',
      note: expect.stringContaining('running: it may still write'),
      regarding: { name: end.story.node },
    });
    expect(
      end.lanes.fenced.world.parts.cluster.audit.filter(
        ({ user, resource }) => user === 'cloudfence' && resource !== 'events',
      ),
    ).toEqual([]);
    expect(end.verdict.right).toBe(true);
  });

  it('removes the quarantine after a fresh boot, and pods start there again', async () => {
    const end = await played('return');
    expect(node(end)?.spec.taints ?? []).toEqual([]);
    expect(pod(end, 'new-pod')).toMatchObject({ status: { phase: 'Running' }, spec: { nodeName: end.story.node } });
    expect(at(end, 'out-of-service-off')).toBeLessThan(at(end, 'node-ready'));
    expect(at(end, 'quarantine-off') - at(end, 'out-of-service-off')).toBeGreaterThanOrEqual(30_000);
    expect(at(end, 'new-pod-running-there')).toBeGreaterThan(at(end, 'quarantine-off'));
    const brought = end.deliveries.map(({ brings }) => brings);
    expect(brought.slice(0, 2)).toEqual(['the event: EC2 says stopped', 'the event: EC2 says running']);
    expect(new Set(brought.slice(2))).toEqual(new Set(['an internal message of Cloudfence: look again']));
    expect(end.deliveries.every(({ after }) => after === 'deleted')).toBe(true);
    expect(end.lanes.fenced.world.parts.ec2.violations).toEqual([]);
    expect(end.verdict.right).toBe(true);
  });

  it('frees what is left of a Node that someone deleted too early', async () => {
    const end = await played('node-gone');
    expect(listObjects(end.lanes.fenced.world, 'volumeattachments').map(({ metadata }) => metadata.uid)).not.toContain(
      end.story.attachmentUid,
    );
    expect(volumeOf(end)).toMatchObject([{ instance: end.story.spare, state: 'attached' }]);
    expect(at(end, 'disk-detached')).toBeLessThan(10_000);
    expect(at(end, 'new-pod-running')).toBeLessThan(90_000);
    expect(end.verdict.right).toBe(true);
  });
});

it('advances virtual time with each request that reaches a simulated server', async () => {
  const end = await played('stopped');
  expect(end.requests.kubernetes).toBeGreaterThan(20);
  expect(end.requests.cloud).toMatchObject({
    DescribeInstances: expect.any(Number),
    DescribeVolumes: expect.any(Number),
  });
  expect(at(end, 'node-marked') - (end.deliveries[0]?.at ?? 0)).toBeGreaterThan(50);
});

describe('the demo, in the world without Cloudfence', () => {
  it('shows that nothing moves within ten minutes when the machine is only stopped', async () => {
    const { lanes, story } = await played('stopped');
    expect(volumeIn(lanes.alone.world, story.volume)?.attachments).toMatchObject([{ instance: story.holder }]);
    expect(lanes.alone.reached.get('pod-marked')).toBeGreaterThan(300_000);
    expect(lanes.alone.reached.has('old-pod-gone')).toBe(false);
    expect(lanes.alone.world.parts.cluster.audit.some(({ user }) => user === 'cloudfence')).toBe(false);
  });

  it('shows that the cloud controller moves it after more than six minutes if the machine is terminated', async () => {
    const { lanes } = await played('terminated');
    expect(lanes.alone.reached.get('new-pod-running')).toBeGreaterThan(400_000);
  });

  it('tells both stories in the order of events', async () => {
    const { news } = await played('return');
    const times = news.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(new Set(news.map(({ lane }) => lane))).toEqual(new Set(['kubernetes alone', 'with cloudfence', 'both']));
  });
});
