import { describe, expect, it } from 'vitest';
import { releaseFenced, releaseNamed } from '../../app/diagnose.ts';
import { run } from '../../fencing/loop/run.ts';
import { defaultPolicy, timing } from '../../fencing/model/policy.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import { FENCED_LABEL, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { fence, freshRelease } from './ends.ts';
import { startMachine, stopMachine, stopped, UNTIL_STOPPED_MS, type Incident } from './incidents.ts';
import { portsOver } from './ports.ts';
import { driverRegisters, takeOver } from './taken-over.ts';
import { thaw, walk } from './walk.ts';

/** A person ends a fence with `release --accept`, and another fence begins before that command ends. */

const MINUTE_MS = 60_000;

const labelOf = ({ world, scene }: Incident): string | undefined =>
  getObject(world, 'nodes', scene.nodeOf(scene.holder))?.metadata.labels?.[FENCED_LABEL];

const releaseOf = (incident: Incident) => ({
  ...freshRelease(incident, 'checked the console'),
  deadline: incident.world.now() + 60 * MINUTE_MS,
});

const stopsAgain = async (incident: Incident): Promise<void> => {
  startMachine(incident.world, incident.scene.holder);
  incident.world.advance(10 * MINUTE_MS);
  stopMachine(incident.world, incident.scene.holder);
  incident.world.advance(UNTIL_STOPPED_MS);
  await fence(incident, { runId: 'next' });
};

it('a fence that began while the laptop slept stays', async () => {
  const incident = stopped();
  await fence(incident);
  const { crossings, outcome } = await walk(incident.world, releaseOf(incident));
  expect(outcome).toMatchObject({ outcome: 'released' });
  const slept: string[] = [];
  for (const { known, command, world } of crossings) {
    const asleep: Incident = { world, scene: incident.scene };
    if (labelOf(asleep) === undefined) continue;
    await stopsAgain(asleep);
    if (labelOf(asleep) !== 'next.1') continue;
    slept.push(command.do);
    const { reason } = await thaw({ ...known, deadline: world.now() + MINUTE_MS }, world);
    expect([reason.code, labelOf(asleep)], `asleep before ${command.do}`).toEqual(['another-fence', 'next.1']);
  }
  expect(slept).toContain('sleep');
});

it('a fence that began while the cloud did not answer stays', async () => {
  const incident = stopped();
  await fence(incident);
  const ports = portsOver(incident.world);
  const outages: string[] = [];
  const look: typeof ports.cloud.look = async (...asked) => {
    if (outages.length > 0) return ports.cloud.look(...asked);
    await stopsAgain(incident);
    outages.push(labelOf(incident) ?? '');
    throw new Unavailable('an outage of EC2');
  };
  const { reason } = await run(releaseOf(incident), { ...ports, cloud: { ...ports.cloud, look } });
  expect([outages, reason.code, labelOf(incident)]).toEqual([['next.1'], 'another-fence', 'next.1']);
});

it('a fence that began while the Node was being read stays', async () => {
  const incident = stopped();
  await fence(incident);
  const ports = portsOver(incident.world);
  const outages: string[] = [];
  const clusters = ports.clusters.map((cluster) => ({
    ...cluster,
    look: async (...asked: Parameters<typeof cluster.look>) => {
      if (outages.length === 0) {
        await stopsAgain(incident);
        outages.push(labelOf(incident) ?? '');
      }
      return cluster.look(...asked);
    },
  }));
  const { reason } = await run(releaseOf(incident), { ...ports, clusters });
  expect([outages, reason.code, labelOf(incident)]).toEqual([['next.1'], 'another-fence', 'next.1']);
});

/** A command of the CLI, or of a function, in which somebody names the Node. */
const commandOver = (incident: Incident, change: Partial<Cluster>, look?: Ports['cloud']['look']) => {
  const ports = portsOver(incident.world);
  const cloud = { ...ports.cloud, ...(look && { look }) };
  const nothing = () => Promise.reject(new Error('not asked'));
  return {
    ports: { ...ports, cloud },
    policy: defaultPolicy,
    deadline: incident.world.now() + 60 * MINUTE_MS,
    newRunId: () => 'release',
    openedCloud: { viewDisks: nothing, driverFaultOf: () => null },
    openClusters: ports.clusters.map((cluster) => ({ cluster: { ...cluster, ...change }, diagnosis: nothing })),
  };
};

it('a fence that began while the command searched for its Node stays', async () => {
  const incident = stopped();
  await fence(incident);
  const identify: Cluster['identify'] = async (...asked) => {
    const found = await portsOver(incident.world).clusters[0]?.identify(...asked);
    await stopsAgain(incident);
    return found ?? null;
  };
  const statement = { says: 'checked the console', at: incident.world.now() };
  const named = incident.scene.nodeOf(incident.scene.holder);
  const { reason } = await releaseNamed(named, statement, commandOver(incident, { identify }));
  expect([reason.code, labelOf(incident)]).toEqual(['another-fence', 'next.1']);
});

it('a person ends the fence of a Node that names two machines', async () => {
  const incident = stopped();
  await fence(incident);
  driverRegisters(incident, takeOver(incident));
  expect(await fence(incident, { runId: 'next' })).toMatchObject({
    reason: { code: 'identity-contradicted', says: expect.stringContaining('cloudfence release') },
  });
  const named = incident.scene.nodeOf(incident.scene.holder);
  const tools = commandOver(incident, {});
  await expect(releaseNamed(named, null, tools)).rejects.toThrow('names more than one machine');
  const statement = { says: 'checked both machines', at: incident.world.now() };
  expect(await releaseNamed(named, statement, tools)).toMatchObject({ outcome: 'released' });
  expect(labelOf(incident)).toBeUndefined();
});

it('a person ends all fences, and a record that nobody can read is on a Node that names two machines', async () => {
  const incident = stopped();
  await fence(incident);
  driverRegisters(incident, takeOver(incident));
  const fenced = { cluster: 'sandbox', node: incident.scene.nodeOf(incident.scene.holder), machine: null };
  await expect(releaseFenced(fenced, null, commandOver(incident, {}))).rejects.toThrow('names more than one machine');
  const statement = { says: 'checked both machines', at: incident.world.now() };
  expect(await releaseFenced(fenced, statement, commandOver(incident, {}))).toMatchObject({ outcome: 'released' });
});

describe('the release of a Node whose annotations are full', () => {
  const filled = async (kept: readonly string[]): Promise<Incident> => {
    const incident = stopped();
    const { world, scene } = incident;
    await fence(incident);
    const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
    const record = kept.map((name) => [name, node?.metadata.annotations?.[name] ?? ''] as const);
    const used = [...record.flat(), 'full'].join('').length;
    if (node)
      writerAs(world, 'kubelet').change('nodes', node, (draft) => {
        draft.metadata.annotations = { ...Object.fromEntries(record), full: 'x'.repeat(256 * 1024 - used) };
      });
    return incident;
  };

  it('writes a shorter record over the present one', async () => {
    const incident = await filled([RECORD_ANNOTATION]);
    expect(await run(releaseOf(incident), portsOver(incident.world))).toMatchObject({ outcome: 'released' });
    expect(labelOf(incident)).toMatch(/^run\.1_removed_/);
  });

  it('says what to do if there is no room for a record', async () => {
    const incident = await filled([]);
    expect(await run(releaseOf(incident), portsOver(incident.world))).toMatchObject({
      outcome: 'failed',
      reason: { code: 'step-refused', says: expect.stringContaining('leave no room for a record: remove some') },
    });
    expect(labelOf(incident)).toBe('run.1');
  });
});

it('a fence that began during the first of two runs stays', async () => {
  const incident = stopped();
  await fence(incident);
  let looks = 0;
  const look: Ports['cloud']['look'] = async (...asked) => {
    looks += 1;
    if (looks === 1) await stopsAgain(incident);
    return portsOver(incident.world).cloud.look(...asked);
  };
  const statement = { says: 'checked the console', at: incident.world.now() };
  const fenced = {
    cluster: 'sandbox',
    node: incident.scene.nodeOf(incident.scene.holder),
    machine: 'i-0fffffffffffffff1',
  };
  const { reason } = await releaseFenced(fenced, statement, commandOver(incident, {}, look));
  expect([looks > 1, reason.code, labelOf(incident)]).toEqual([true, 'another-fence', 'next.1']);
});

it('a command ends at once if the cloud denies its read', async () => {
  const incident = stopped();
  await fence(incident);
  const ports = portsOver(incident.world);
  let asked = 0;
  const look = async () => {
    asked += 1;
    throw new PermissionDenied('ec2:DescribeInstances was denied');
  };
  const { outcome } = await run(releaseOf(incident), { ...ports, cloud: { ...ports.cloud, look } });
  expect([outcome, asked]).toEqual(['failed', 1]);
});

it('no other run goes on with a parked fence that a person is ending, even if a pod comes to its Node', async () => {
  const incident = stopped();
  const { world, scene } = incident;
  await fence(incident);
  const ports = portsOver(world);
  const others: string[] = [];
  const sleep: typeof ports.clock.sleep = async (ms, signal) => {
    if (others.length > 0) return ports.clock.sleep(ms, signal);
    const begun = world.now();
    world.advance(15_000);
    addBarePod(world, { name: 'late', spec: { nodeName: scene.nodeOf(scene.holder) } });
    const { steps } = await fence(incident, { runId: 'next' });
    others.push(...steps.map(({ step }) => step));
    return ports.clock.sleep(Math.max(0, ms - (world.now() - begun)), signal);
  };
  const { outcome, steps } = await run(releaseOf(incident), { ...ports, clock: { ...ports.clock, sleep } });
  expect([outcome, others]).toEqual(['released', ['set-tombstone']]);
  expect(steps.map(({ step }) => step)).toEqual(['lift-out-of-service', 'release-node']);
  expect((steps[1]?.at ?? 0) - (steps[0]?.at ?? 0)).toBeGreaterThanOrEqual(timing.settle);
  expect(labelOf(incident)).toMatch(/_removed_/);
});
