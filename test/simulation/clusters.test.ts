import { describe, expect, it } from 'vitest';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { Unavailable } from '../../fencing/model/errors.ts';
import { run } from '../../fencing/loop/run.ts';
import { createAwsSandbox, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { stopped } from './incidents.ts';
import { clusterOver, freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';

/** One configuration with several clusters. The tag of the instance selects one, or else each is asked. */

const named = (name: string, cluster: Cluster): Cluster => ({ ...cluster, name });
const empty = () => clusterOver(createAwsSandbox({ seed: 9, now: Date.UTC(2026, 0, 1) }));

const silent = (): Cluster => {
  const fail = () => Promise.reject(new Unavailable('no route to host'));
  return {
    name: 'silent',
    find: fail,
    identify: fail,
    look: fail,
    attachment: fail,
    recheck: fail,
    apply: fail,
    recordEvent: fail,
    surveyConnectivity: fail,
    reserve: fail,
    conclude: fail,
    concludeUnless: fail,
    suspects: fail,
  };
};

const tag = (world: AwsWorld, machine: string, cluster: string): void => {
  const kept = world.parts.ec2.instances[machine];
  const instance = instanceIn(world, machine);
  if (kept && instance)
    world.parts.ec2.instances[machine] = {
      ...kept,
      present: { ...instance, tags: { [`kubernetes.io/cluster/${cluster}`]: 'owned' } },
    };
};

const react = async (clusters: (own: Cluster) => readonly Cluster[], tagged?: string) => {
  const { world, scene } = stopped();
  if (tagged !== undefined) tag(world, scene.holder, tagged);
  const ports = { ...portsOver(world), clusters: clusters(clusterOver(world)) };
  const outcome = await run(freshRun(world, ports, { machine: scene.holder, lasts: 30_000 }), ports);
  return { outcome, fenced: stateOf(world).nodes.some((line) => line.includes('fenced')) };
};

describe('a machine among several clusters', () => {
  it('is found in the cluster that has its Node', async () => {
    const { outcome, fenced } = await react((own) => [named('one', empty()), named('two', own)]);
    expect({ ...outcome, fenced }).toMatchObject({ outcome: 'fenced', cluster: 'two', fenced: true });
  });

  it('is fenced although another cluster cannot be reached', async () => {
    const { outcome } = await react((own) => [silent(), named('two', own)]);
    expect(outcome).toMatchObject({ outcome: 'fenced', cluster: 'two' });
  });

  it('is waited for, and never ignored, if one cluster does not answer and no other has its Node', async () => {
    const { outcome, fenced } = await react(() => [silent(), named('one', empty())]);
    expect({ ...outcome, fenced }).toMatchObject({
      outcome: 'waiting',
      reason: { code: 'cluster-unreachable', says: expect.stringContaining('silent') },
      fenced: false,
    });
  });

  it('is ignored if all clusters answer and none has its Node', async () => {
    const { outcome } = await react(() => [named('one', empty()), named('two', empty())]);
    expect(outcome).toMatchObject({ outcome: 'ignored', reason: { code: 'no-node' } });
  });

  it('is searched for only in the cluster that its tag names', async () => {
    const { outcome } = await react((own) => [named('one', own), silent()], 'one');
    expect(outcome).toMatchObject({ outcome: 'fenced', cluster: 'one' });
    const elsewhere = await react((own) => [named('one', empty()), named('two', own)], 'one');
    expect(elsewhere.outcome).toMatchObject({ outcome: 'ignored' });
  });

  it('is searched for everywhere if its tag names a cluster that is not configured', async () => {
    const { outcome } = await react((own) => [named('one', own)], 'somebody-elses');
    expect(outcome).toMatchObject({ outcome: 'fenced', cluster: 'one' });
  });

  it('is refused if two clusters have a Node of it', async () => {
    const { outcome, fenced } = await react((own) => [named('one', own), named('two', own)]);
    expect({ ...outcome, fenced }).toMatchObject({
      outcome: 'refused',
      reason: { code: 'identity-ambiguous' },
      fenced: false,
    });
  });
});
