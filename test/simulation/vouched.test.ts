import { expect, it } from 'vitest';
import { run } from '../../fencing/loop/run.ts';
import { startRun } from '../../fencing/loop/state.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { change, defaultStop, stopByUser } from '../../sandbox/ec2/instances.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { stage, startMachine, UNTIL_STOPPED_MS, type Incident } from './incidents.ts';
import { portsOver } from './ports.ts';
import { thaw, walk } from './walk.ts';

/** A person vouches that a hibernated machine stays off, in a process that is frozen while the machine resumes. */

const MINUTE_MS = 60_000;

const hibernate = (world: AwsWorld, id: string): void => {
  const instance = instanceIn(world, id);
  if (instance) stopByUser(world, change(world, instance, { canHibernate: true }), { ...defaultStop, hibernate: true });
  world.advance(UNTIL_STOPPED_MS);
};

const vouchedFence = ({ world, scene }: Incident) =>
  startRun({
    request: { machine: scene.holder, intent: 'fence', accepted: null, vouched: 'nobody will resume it' },
    policy: { ...defaultPolicy, vouching: 'accepted' },
    identityRules: portsOver(world).cloud,
    runId: 'vouched',
    deadline: world.now() + 10 * MINUTE_MS,
    statedAt: world.now(),
  });

const deletionsSince = (world: AwsWorld, since: number): readonly string[] =>
  world.parts.cluster.audit
    .filter(({ at, user, verb }) => at >= since && user === 'kubernetes-admin' && verb === 'delete')
    .map(({ resource, name }) => `${resource} ${name}`);

it('nothing is deleted once the machine has resumed, although it is hibernated again in the same boot', async () => {
  const incident = stage(1);
  const { scene } = incident;
  hibernate(incident.world, scene.holder);
  const { crossings, outcome } = await walk(incident.world, vouchedFence(incident));
  expect(outcome).toMatchObject({ outcome: 'fenced' });
  for (const { known, command, world } of crossings) {
    startMachine(world, scene.holder);
    world.advance(2 * MINUTE_MS);
    hibernate(world, scene.holder);
    const since = world.now();
    await thaw({ ...known, deadline: world.now() + MINUTE_MS }, world);
    expect(deletionsSince(world, since), `frozen before ${command.do}`).toEqual([]);
  }
});

const deleteNode = ({ world, scene }: Incident): void => {
  const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
  if (node) writerAs(world, 'a-person').remove('nodes', node);
  world.advance(50);
};

it('nothing is freed if it resumed while the cloud was being asked, and its Node is gone', async () => {
  const incident = stage(1);
  const { world, scene } = incident;
  hibernate(world, scene.holder);
  deleteNode(incident);
  const start = vouchedFence(incident);
  const ports = portsOver(world);
  let looks = 0;
  const look: typeof ports.cloud.look = async (...asked) => {
    looks += 1;
    if (looks > 1) return ports.cloud.look(...asked);
    startMachine(world, scene.holder);
    world.advance(2 * MINUTE_MS);
    hibernate(world, scene.holder);
    deleteNode(incident);
    return ports.cloud.look(...asked);
  };
  const { reason, steps } = await run(start, { ...ports, cloud: { ...ports.cloud, look } });
  expect([reason.code, steps]).toEqual(['another-boot', []]);
});
