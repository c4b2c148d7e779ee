import { expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { runAll } from '../../fencing/loop/run.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { CSI_NODE_IDS } from '../../kubernetes/names.ts';
import { createAwsSandbox, EBS } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { addMachine } from '../../sandbox/scenes/ec2-database.ts';
import { stopMachine } from './incidents.ts';
import { portsOver } from './ports.ts';
import { stateOf } from './state.ts';

/**
 * A kubelet may write the annotations of its own Node. One of them writes the ID of another machine into them, and is
 * silent as well.
 */
const framed = () => {
  const world = createAwsSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const [, imposter, victim] = [addMachine(world), addMachine(world), addMachine(world)];
  const disks = [addVolume(world), addVolume(world), addVolume(world)];
  addStatefulSet(world, {
    name: 'db',
    disks: disks.map((handle) => ({ driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' })),
  });
  settle(world);
  const nodeOf = (machine: string) =>
    listObjects(world, 'nodes').find(({ spec }) => spec.providerID?.endsWith(machine));
  const imposters = nodeOf(imposter);
  if (!imposters) throw new Error('the imposter has a Node');
  const lie = { [CSI_NODE_IDS]: JSON.stringify({ [EBS]: victim }) };
  writerAs(world, 'kubelet').change('nodes', imposters, (draft) => {
    draft.metadata.annotations = { ...draft.metadata.annotations, ...lie };
  });
  world.parts.cluster.knobs.partitioned = [instanceIn(world, imposter)?.privateDnsName ?? ''];
  stopMachine(world, victim);
  world.advance(100_000);
  const runOptions = { policy: defaultPolicy, deadline: world.now() + 300_000, newRunId: () => 'run' };
  return { world, imposter, victim, nodeOf, runOptions };
};

it('a kubelet that claims the machine of another Node does not prevent its fence, and is itself reported', async () => {
  const { world, imposter, victim, runOptions } = framed();
  const { outcomes } = await sweep(runOptions, portsOver(world));
  expect(outcomes).toContainEqual(expect.objectContaining({ machine: victim, outcome: 'fenced' }));
  expect(outcomes).toContainEqual(
    expect.objectContaining({
      machine: imposter,
      outcome: 'refused',
      reason: { code: 'identity-contradicted', says: expect.stringContaining(victim) },
    }),
  );
  expect(stateOf(world).violations).toEqual([]);
});

it('a kubelet that claims another machine prevents no fence, even if no name can be guessed', async () => {
  const { world, victim, runOptions } = framed();
  const ports = portsOver(world);
  const nameless = {
    ...ports.cloud,
    look: async (...asked: Parameters<typeof ports.cloud.look>) =>
      (await ports.cloud.look(...asked)).map((facts) => ({ ...facts, nodeNames: [] })),
  };
  expect(await runAll([victim], runOptions, { ...ports, cloud: nameless })).toMatchObject([
    { machine: victim, outcome: 'fenced' },
  ]);
  expect(stateOf(world).violations).toEqual([]);
});

it('a disk that a kubelet assigns to the machine of a deleted Node keeps no disk of that machine', async () => {
  const { world, imposter, victim, nodeOf, runOptions } = framed();
  const attachmentTo = (machine: string) =>
    listObjects(world, 'volumeattachments').find(({ spec }) => spec.nodeName === nodeOf(machine)?.metadata.name);
  const [victims, bait, own] = [nodeOf(victim), attachmentTo(imposter), attachmentTo(victim)];
  if (!victims || !bait || !own) throw new Error('both machines hold a disk');
  writerAs(world, 'attacher').change('volumeattachments', bait, (draft) => {
    draft.metadata.annotations = { 'csi.alpha.kubernetes.io/node-id': victim };
  });
  writerAs(world, 'person').remove('nodes', victims);
  world.advance(50);
  expect(await runAll([victim], runOptions, portsOver(world))).toMatchObject([
    { machine: victim, reason: { code: 'name-reused', says: expect.stringContaining(bait.metadata.name) } },
  ]);
  const standing = listObjects(world, 'volumeattachments').map(({ metadata }) => metadata.name);
  expect([standing.includes(own.metadata.name), standing.includes(bait.metadata.name)]).toEqual([false, true]);
  expect(stateOf(world).violations).toEqual([]);
});

it('a kubelet that claims the machine of a deleted Node does not hide what that machine has left', async () => {
  const { world, imposter, victim, nodeOf, runOptions } = framed();
  const [victims, imposters] = [nodeOf(victim), nodeOf(imposter)];
  const attachment = listObjects(world, 'volumeattachments').find(
    ({ spec }) => spec.nodeName === victims?.metadata.name,
  );
  if (!victims || !imposters || !attachment) throw new Error('both Nodes exist, and the victim holds a disk');
  // The attacher copies the ID from what the kubelet of the imposter has registered.
  const { apiVersion, kind } = attachment;
  writerAs(world, 'attacher').create('volumeattachments', {
    apiVersion,
    kind,
    metadata: { name: 'csi-bait', annotations: { 'csi.alpha.kubernetes.io/node-id': victim } },
    spec: { ...attachment.spec, nodeName: imposters.metadata.name, source: { persistentVolumeName: 'pv-bait' } },
    status: { attached: false },
  });
  writerAs(world, 'person').remove('nodes', victims);
  world.advance(50);
  expect(await runAll([victim], runOptions, portsOver(world))).toMatchObject([{ machine: victim, outcome: 'fenced' }]);
  expect(listObjects(world, 'volumeattachments').map(({ metadata }) => metadata.name)).not.toContain(
    attachment.metadata.name,
  );
});
