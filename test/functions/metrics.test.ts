import { describe, expect, it } from 'vitest';
import { ClusterUnavailable, PermissionDenied } from '../../fencing/model/errors.ts';
import { onEvent } from '../../functions/aws/on-event.ts';
import { sweep as azureSweep } from '../../functions/azure/handlers.ts';
import { sweep } from '../../functions/sweep.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { shutdownTakes, stopOutOfBand } from '../../sandbox/ec2/scenario.ts';
import { change, scene as azureScene } from '../sandbox/azure/azure-runs.ts';
import { fence } from '../simulation/ends.ts';
import { stage, startMachine, stopMachine, stopped } from '../simulation/incidents.ts';
import { portsOver } from '../simulation/ports.ts';
import { stateOf } from '../simulation/state.ts';
import { azureInstall } from './azure-install.ts';
import { batchOf, installOver, stateChange, type Install } from './install.ts';

/**
 * Metrics cause alarms and inform people. Shadow mode counts no fences, and a cluster that does not answer is reported.
 */

const swept = (install: Install) => sweep(async () => install.dependencies)({}, install.context());
const measuredAs = ({ lines }: Pick<Install, 'lines'>, name: string) => lines.filter((line) => name in line);

it('shadow mode reports once for each boot what would be fenced, and never counts it as a fence', async () => {
  const { world, scene } = stopped();
  world.advance(120_000);
  const install = installOver(world, { shadow: true });
  const before = stateOf(world);
  for (let times = 0; times < 3; times += 1)
    expect(await swept(install)).toMatchObject({
      results: [{ outcome: 'would-fence', dryRun: true, instance: scene.holder }],
    });
  await onEvent(async () => install.dependencies)(batchOf(stateChange(scene.holder)), install.context());
  expect(stateOf(world)).toEqual(before);
  expect(measuredAs(install, 'WouldFence')).toMatchObject([
    { decision: 'would-fence', WouldFence: 1, Outcomes: 1, Outcome: 'would-fence', instance: scene.holder },
  ]);
  expect(install.lines.filter(({ Outcome }) => Outcome === 'fenced')).toEqual([]);
  expect(install.lines.filter(({ step }) => step === 'mark')).toHaveLength(2);
  startMachine(world, scene.holder);
  world.advance(120_000);
  stopMachine(world, scene.holder);
  world.advance(120_000);
  await swept(install);
  expect(measuredAs(install, 'WouldFence')).toHaveLength(2);
});

it.each([
  ['a dry run counts a release only as one that would be', { dryRun: true }, 'would-release', 'WouldRelease'],
  ['shadow mode counts a release, which is real', { shadow: true }, 'released', 'Outcomes'],
] as const)('%s, and a machine that is already fenced is not counted', async (_, policy, end, measure) => {
  const { world, scene } = stopped();
  await fence({ world, scene });
  const install = installOver(world, policy);
  await onEvent(async () => install.dependencies)(batchOf(stateChange(scene.holder)), install.context());
  expect(measuredAs(install, 'Outcomes')).toEqual([]);
  startMachine(world, scene.holder);
  world.advance(120_000);
  expect(await swept(install)).toMatchObject({ results: [{ outcome: end, dryRun: end === 'would-release' }] });
  await swept(install);
  expect(measuredAs(install, measure)).toMatchObject([
    { decision: end, Outcome: end, dryRun: end === 'would-release' },
  ]);
  expect(install.lines.filter(({ Outcome }) => Outcome === 'fenced')).toEqual([]);
});

it('shadow mode on Azure reports what would be fenced, and never counts it as a fence', async () => {
  const { world, holder } = azureScene();
  change(world, holder, deallocate, 240_000);
  const install = azureInstall(world, { shadow: true });
  for (let times = 0; times < 3; times += 1) await azureSweep(install.getDependencies)({}, install.context);
  expect(measuredAs(install, 'WouldFence')).toMatchObject([{ decision: 'would-fence', instance: holder }]);
});

const silent = () => Promise.reject(new ClusterUnavailable('GET /api/v1/nodes got no response: connect ECONNREFUSED'));

it('a cluster that does not answer is counted, by a sweep and for an event', async () => {
  const { world, scene } = stopped();
  const clusters = portsOver(world).clusters.map((cluster) => ({
    ...cluster,
    suspects: silent,
    find: silent,
    look: silent,
  }));
  const install = installOver(world, {}, { clusters });
  await swept(install);
  expect(measuredAs(install, 'ClusterUnreachable')).toMatchObject([
    { decision: 'failed', because: 'cluster-unreachable', cluster: 'sandbox', ClusterUnreachable: 1 },
  ]);
  await onEvent(async () => install.dependencies)(batchOf(stateChange(scene.holder)), install.context());
  expect(measuredAs(install, 'ClusterUnreachable')).toHaveLength(2);
});

it('a sweep that EC2 denies its reads counts its failed runs by outcome, which is what an alarm watches', async () => {
  const { world } = stopped();
  world.advance(120_000);
  const denied = () => Promise.reject(new PermissionDenied('ec2:DescribeInstances is denied'));
  const install = installOver(world, {}, { cloud: { ...portsOver(world).cloud, look: denied } });
  expect(await swept(install)).toMatchObject({ results: [{ outcome: 'failed' }] });
  const [line] = measuredAs(install, 'Outcomes');
  expect(line).toMatchObject({
    Outcomes: 1,
    Outcome: 'failed',
    _aws: { CloudWatchMetrics: [{ Dimensions: [['Outcome']], Metrics: [{ Name: 'Outcomes', Unit: 'Count' }] }] },
  });
  expect(measuredAs(install, 'DeadNodeUnfenced')).toMatchObject([{ DeadNodeUnfenced: 0 }]);
});

it('a cluster that stops to answer during a run is counted, unless it answers again', async () => {
  const { world, scene } = stopped();
  const falling = (over: typeof world, times: number) => {
    let left = times;
    return portsOver(over).clusters.map((cluster) => ({
      ...cluster,
      recheck: async (...asked: Parameters<typeof cluster.recheck>) =>
        (left -= 1) < 0 ? cluster.recheck(...asked) : silent(),
    }));
  };
  const other = world.fork();
  const briefly = installOver(other, {}, { clusters: falling(other, 1) });
  await onEvent(async () => briefly.dependencies)(batchOf(stateChange(scene.holder)), briefly.context());
  expect(measuredAs(briefly, 'ClusterUnreachable')).toEqual([]);
  const once = installOver(world, {}, { clusters: falling(world, 1_000) });
  await onEvent(async () => once.dependencies)(batchOf(stateChange(scene.holder)), once.context());
  expect(measuredAs(once, 'ClusterUnreachable')).toHaveLength(1);
});

it('a machine that hangs while it stops is counted and named after ten minutes', async () => {
  const { world, scene } = stage(1);
  const node = scene.nodeOf(scene.holder);
  world.parts.cluster.knobs.partitioned.push(node);
  shutdownTakes(world, scene.holder, null);
  stopOutOfBand(world, scene.holder, 'Server.ScheduledStop');
  world.advance(2 * 60_000);
  const early = installOver(world);
  expect(await swept(early)).toMatchObject({ results: [{ outcome: 'waiting' }] });
  expect(measuredAs(early, 'StoppingTooLong')).toEqual([]);
  world.advance(11 * 60_000);
  const late = installOver(world);
  await swept(late);
  expect(measuredAs(late, 'StoppingTooLong')).toMatchObject([
    {
      decision: 'swept',
      StoppingTooLong: 1,
      DeadNodeUnfenced: 0,
      says: expect.stringContaining(`machine stopping for more than ten minutes: sandbox/${node}`),
    },
  ]);
});

describe('a fence that lasts too long', () => {
  const lastLine = ({ lines }: Install) => lines.findLast(({ decision }) => decision === 'swept');
  const MINUTE = 60_000;

  it('is counted and named if its Node has been fenced for more than a day', async () => {
    const { world, scene } = stopped();
    await fence({ world, scene });
    const install = installOver(world);
    world.advance(23 * 60 * MINUTE);
    await swept(install);
    expect(measuredAs(install, 'FencedForADay')).toEqual([]);
    world.advance(61 * MINUTE);
    await swept(install);
    expect(lastLine(install)).toMatchObject({
      FencedForADay: 1,
      says: expect.stringContaining(`fenced for more than a day: sandbox/${scene.nodeOf(scene.holder)}`),
    });
    expect(measuredAs(install, 'ReleaseOverdue')).toEqual([]);
  });

  it('is counted and named while its release waits for more than ten minutes', async () => {
    const { world, scene } = stopped();
    await fence({ world, scene });
    world.advance(30 * MINUTE);
    startMachine(world, scene.holder);
    const paused = installOver(world, { paused: 'a test' });
    world.advance(9 * MINUTE);
    await swept(paused);
    expect(measuredAs(paused, 'ReleaseOverdue')).toEqual([]);
    world.advance(2 * MINUTE);
    await swept(paused);
    expect(lastLine(paused)).toMatchObject({
      ReleaseOverdue: 1,
      says: expect.stringContaining(`for more than ten minutes: sandbox/${scene.nodeOf(scene.holder)}`),
    });
    const running = installOver(world);
    expect(await swept(running)).toMatchObject({ results: [{ outcome: 'released' }] });
    expect(measuredAs(running, 'ReleaseOverdue')).toEqual([]);
  });
});
