import { describe, expect, it } from 'vitest';
import type { Cloud } from '../../fencing/model/cloud.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { run } from '../../fencing/loop/run.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { awsCloud } from '../../providers/aws/index.ts';
import { ec2Clients } from '../../providers/aws/client.ts';
import { createAwsSandbox, EBS, SANDBOX_REGION, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { addBarePod, addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { inProcessHandler } from '../../sandbox/ec2/in-process-handler.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { databaseOnTwoNodes, type DatabaseScene } from '../../sandbox/scenes/ec2-database.ts';
import { ec2WorldOf } from '../providers/aws/another-world.ts';
import { credentials } from '../sandbox/ec2/ec2-world.ts';
import { freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';

/**
 * The machines run in an account that Cloudfence cannot ask: its own account only says "not found" about them. On one
 * of them, a pod claims a free volume of its own account. Everyone who may create pods and claims can arrange that.
 */
const stage = () => {
  const world = createAwsSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const scene = databaseOnTwoNodes(world);
  const ours = ec2WorldOf('999900001111', SANDBOX_REGION);
  const bait = addVolume(ours);
  addBoundClaim(world, 'bait', { driver: EBS, handle: bait, zone: `${SANDBOX_REGION}a` });
  const here = { nodeSelector: { 'kubernetes.io/hostname': scene.nodeOf(scene.spare) } };
  addBarePod(world, {
    name: 'tenant',
    spec: { ...here, volumes: [{ name: 'bait', persistentVolumeClaim: { claimName: 'bait' } }] },
  });
  world.advance(60_000);
  return { world, scene, cloud: cloudOf(ours, world) };
};

const cloudOf = (ours: ReturnType<typeof ec2WorldOf>, world: AwsWorld, region = SANDBOX_REGION): Cloud => {
  const inner = inProcessHandler(ours);
  const handle: typeof inner.handle = (request, options) => {
    world.advance(80);
    return inner.handle(request, options);
  };
  return awsCloud({ clients: ec2Clients({ region, credentials, requestHandler: { ...inner, handle } }), region });
};

/** Unreachable for the API server, and silent for ten minutes. */
const cutOff = (world: AwsWorld, scene: DatabaseScene): void => {
  world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.spare));
  world.advance(600_000);
};

const portsTo = (world: AwsWorld, cloud: Cloud): Ports => ({ ...portsOver(world), cloud });

/** Kubernetes itself evicts the pods of a Node that is out of reach. */
const ownWriting = ({ nodes, attachments, violations }: ReturnType<typeof stateOf>) => ({
  nodes,
  attachments,
  violations,
});

describe('a machine of an unserved account', () => {
  it.each(['reachable', 'cut off'])(
    'is not touched, whatever volume of our account a pod on it claims (%s)',
    async (how) => {
      const { world, scene, cloud } = stage();
      if (how === 'cut off') cutOff(world, scene);
      const before = ownWriting(stateOf(world));
      const ports = portsTo(world, cloud);
      const outcome = await run(freshRun(world, ports, { machine: scene.spare }), ports);
      expect(outcome).toMatchObject({ outcome: 'refused', reason: { code: 'missing-without-witness' }, steps: [] });
      expect(ownWriting(stateOf(world))).toEqual(before);
    },
  );

  it('is not touched although it holds a disk of its own account next to ours', async () => {
    const { world, scene, cloud } = stage();
    const ports = portsTo(world, cloud);
    const outcome = await run(freshRun(world, ports, { machine: scene.holder }), ports);
    expect(outcome).toMatchObject({
      outcome: 'refused',
      reason: { code: 'missing-without-witness', says: expect.stringContaining(scene.volume) },
      steps: [],
    });
  });

  it('is not touched by the sweep', async () => {
    const { world, scene, cloud } = stage();
    cutOff(world, scene);
    const before = ownWriting(stateOf(world));
    let runs = 0;
    const { outcomes } = await sweep(
      { policy: defaultPolicy, deadline: world.now() + 300_000, newRunId: () => `sweep-${(runs += 1)}` },
      portsTo(world, cloud),
    );
    expect(outcomes).toMatchObject([
      { machine: scene.spare, outcome: 'refused', reason: { code: 'missing-without-witness' }, steps: [] },
    ]);
    expect(ownWriting(stateOf(world))).toEqual(before);
  });

  it('is not touched once its Node is gone', async () => {
    const { world, scene, cloud } = stage();
    cutOff(world, scene);
    const node = getObject(world, 'nodes', scene.nodeOf(scene.spare));
    if (node) writerAs(world, 'person').remove('nodes', node);
    world.advance(50);
    const before = ownWriting(stateOf(world));
    const ports = portsTo(world, cloud);
    const outcome = await run(freshRun(world, ports, { machine: scene.spare }), ports);
    expect(['refused', 'ignored']).toContain(outcome.outcome);
    expect(outcome.steps).toEqual([]);
    expect(ownWriting(stateOf(world)).violations).toEqual(before.violations);
  });
});

it('a machine of an unserved region is refused, with the setting that would serve it', async () => {
  const { world, scene } = stage();
  cutOff(world, scene);
  const ports = portsTo(world, cloudOf(ec2WorldOf('999900001111', 'us-east-1'), world, 'us-east-1'));
  const before = ownWriting(stateOf(world));
  const outcome = await run(freshRun(world, ports, { machine: scene.spare }), ports);
  expect(outcome).toMatchObject({
    outcome: 'refused',
    reason: { code: 'scope-not-served', says: expect.stringMatching(new RegExp(`${SANDBOX_REGION}.*territories`)) },
    steps: [],
  });
  expect(ownWriting(stateOf(world))).toEqual(before);
});
