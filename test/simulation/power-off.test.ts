import { expect, it } from 'vitest';
import { createAwsSandbox } from '../../sandbox/aws-sandbox.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { addMachine, databaseOnTwoNodes } from '../../sandbox/scenes/ec2-database.ts';
import { AFTERMATH_MS, fence } from './ends.ts';
import { stopMachine } from './incidents.ts';
import { stateOf } from './state.ts';

/** A machine that runs while its Node is out of reach is not off. What happens is the policy's choice. */

const cutOff = (minutes: number) => {
  const world = createAwsSandbox({ seed: 5, now: Date.UTC(2026, 0, 1) });
  const scene = databaseOnTwoNodes(world);
  addMachine(world);
  settle(world);
  world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
  world.advance(minutes * 60_000);
  return { world, scene };
};

it('is reported by default, and left alone', async () => {
  const incident = cutOff(10);
  expect(await fence(incident)).toMatchObject({
    outcome: 'refused',
    reason: { code: 'unreachable-but-running' },
    steps: [],
  });
  expect(stateOf(incident.world).disks).toContain(`${incident.scene.volume} at ${incident.scene.holder} attached`);
});

it('is switched off under power-off, proven off, and then fenced', async () => {
  const incident = cutOff(10);
  const { world, scene } = incident;
  const outcome = await fence(incident, { policy: { unreachable: 'power-off' } });
  expect(outcome.steps.map(({ step }) => step)).toEqual(['power-off', 'mark', 'delete-pod', 'park']);
  world.advance(AFTERMATH_MS);
  expect(instanceIn(world, scene.holder)?.state).toBe('stopped');
  expect(stateOf(world)).toMatchObject({
    disks: expect.arrayContaining([expect.stringContaining(`${scene.volume} at i-`)]),
    harm: [],
  });
  expect(stateOf(world).disks).not.toContain(`${scene.volume} at ${scene.holder} attached`);
});

it('is not switched off before five minutes', async () => {
  const incident = cutOff(3);
  expect(await fence(incident, { policy: { unreachable: 'power-off' } })).toMatchObject({
    outcome: 'refused',
    reason: { code: 'power-off-refused' },
  });
  expect(instanceIn(incident.world, incident.scene.holder)?.state).toBe('running');
});

it('is not switched off while another node is out of reach too', async () => {
  const incident = cutOff(10);
  const { world, scene } = incident;
  world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.spare));
  world.advance(120_000);
  expect(await fence(incident, { policy: { unreachable: 'power-off' } })).toMatchObject({
    outcome: 'refused',
    reason: { code: 'power-off-refused' },
  });
  expect(instanceIn(world, scene.holder)?.state).toBe('running');
});

it('that hangs in stopping for more than ten minutes is forced under power-off', async () => {
  const incident = cutOff(0);
  const { world, scene } = incident;
  shutdownTakes(world, scene.holder, null);
  stopMachine(world, scene.holder);
  world.advance(11 * 60_000);
  expect(await fence(incident, { lasts: 10_000 })).toMatchObject({
    outcome: 'waiting',
    reason: { code: 'stopping-too-long' },
  });
  const outcome = await fence(incident, { policy: { unreachable: 'power-off' } });
  expect(outcome).toMatchObject({ outcome: 'fenced' });
  expect(outcome.steps[0]).toMatchObject({ step: 'power-off', result: 'done' });
});
