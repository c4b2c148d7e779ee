import { describe, expect, it } from 'vitest';
import { lookAtMachine, startMachine, stopMachine } from '../../drill/machine.ts';
import { conductDrill } from '../../drill/run.ts';
import type { DrillCluster } from '../../drill/ports.ts';
import type { DrillTools } from '../../drill/tools.ts';
import { ProofExpired, Refused, Unavailable } from '../../fencing/model/errors.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { cloudThat, clusterThat } from '../fencing/ports.ts';
import { alone, attachment, cluster, machine, node } from '../fencing/view-builder.ts';
import { commands, drilledMachine, running, drilledNode } from './fake-drill.ts';

/** When a drill stops and starts its machine, with stand-ins for everything around it. Times are virtual. */

const never = new AbortController().signal;
const target = { machine: 'm-1', incarnation: null };

const virtualClock = () => {
  let mono = 0;
  return {
    pass: (ms: number) => void (mono += ms),
    clock: {
      now: () => ({ wall: mono, mono }),
      sleep: async (ms: number) => void (mono += ms),
      timeout: () => never,
    },
  };
};

/** A cloud that gives these answers, one for each look, and the last one again and again. */
const cloudSaying = (...answers: readonly [Partial<MachineFacts>, ...Partial<MachineFacts>[]]) => {
  const { clock, pass } = virtualClock();
  const [sent, told]: [string[], string[]] = [[], []];
  let looks = 0;
  const look = async () => {
    const answer = answers[Math.min(looks, answers.length - 1)];
    looks += 1;
    return [machine(answer)];
  };
  const powerOff = async () => void sent.push('power-off');
  const drillCloud = { start: async () => void sent.push('start') };
  const tools = { cloud: { look, powerOff }, drillCloud, clock, tell: (says: string) => void told.push(says) };
  return { tools, pass, sent, told, looks: () => looks };
};

describe('the machine of a drill', () => {
  it('is not one that has its name by now', async () => {
    const meant = { machine: 'm-1', incarnation: 'id-1' };
    const named = (id: string) => lookAtMachine(meant, cloudSaying({ incarnation: { id, made: null } }).tools, never);
    await expect(named('id-1')).resolves.toMatchObject({ machine: 'm-1' });
    await expect(named('id-2')).rejects.toThrow('m-1 is another machine now (id-2)');
    const gone = cloudSaying({ power: 'missing', incarnation: null });
    await expect(lookAtMachine(meant, gone.tools, never)).resolves.toMatchObject({ power: 'missing' });
  });

  it('is stopped only within two seconds of the last look, which is repeated three times', async () => {
    const { tools, pass, sent } = cloudSaying({ power: 'running' });
    let [left, confirmed] = [0, 0];
    const slow = async (): Promise<void> => {
      confirmed += 1;
      pass(2_000);
    };
    await expect(stopMachine(target, tools, slow, () => (left += 1), never)).rejects.toThrow(ProofExpired);
    expect([confirmed, left, sent]).toEqual([3, 0, []]);
  });

  it('is stopped after a slow look was repeated in time', async () => {
    const { tools, pass, sent } = cloudSaying({ power: 'running' });
    let confirmed = 0;
    const slowOnce = async (): Promise<void> => pass((confirmed += 1) === 1 ? 2_000 : 1_999);
    expect(await stopMachine(target, tools, slowOnce, () => 'left', never)).toBe('left');
    expect([confirmed, sent]).toEqual([2, ['power-off']]);
  });

  it('is not stopped again if the answer to the stop was lost', async () => {
    const { tools } = cloudSaying({ power: 'running' });
    let calls = 0;
    const powerOff = async (): Promise<void> => {
      calls += 1;
      throw new Unavailable('no answer');
    };
    const lost = { ...tools, cloud: { ...tools.cloud, powerOff } };
    await expect(
      stopMachine(
        target,
        lost,
        async () => undefined,
        () => null,
        never,
      ),
    ).rejects.toThrow('no answer');
    expect(calls).toBe(1);
  });

  const start = ({ tools }: ReturnType<typeof cloudSaying>) =>
    startMachine(target, tools, { lasts: 60_000, signal: never });

  it.each(['off', 'off-if-repeated'] as const)(
    'is started while it is %s, and runs if two looks agree',
    async (power) => {
      const up = { power: 'running' } as const;
      const cloud = cloudSaying({ power }, up, { power: 'starting' }, up, up);
      await start(cloud);
      expect([cloud.sent, cloud.looks()]).toEqual([['start'], 5]);
      expect(cloud.told).toEqual([
        'm-1 does not run yet: the cloud says that it is off',
        'm-1 does not run yet: the cloud says that it is starting',
      ]);
    },
  );

  it('runs without a start if five looks agree', async () => {
    const cloud = cloudSaying({ power: 'running' });
    await start(cloud);
    expect([cloud.sent, cloud.looks()]).toEqual([[], 5]);
  });

  it.each([
    [{ power: 'off', forGood: true } as const, 1],
    [{ power: 'missing' } as const, 5],
  ])('is never started once it is gone (%j), which %i looks in a row must say', async (gone, looks) => {
    const cloud = cloudSaying(gone);
    await expect(start(cloud)).rejects.toThrow('m-1 is gone, and cannot be started');
    expect([cloud.sent, cloud.looks()]).toEqual([[], looks]);
  });

  it('is started although the cloud does not know it for a moment, even twice', async () => {
    const [off, missing, up] = [{ power: 'off' }, { power: 'missing' }, { power: 'running' }] as const;
    const cloud = cloudSaying(missing, missing, missing, missing, off, missing, missing, off, up, up);
    await start(cloud);
    expect(cloud.sent).toEqual(['start', 'start']);
  });
});

interface Change {
  readonly node?: Parameters<typeof node>[0];
  readonly machine?: Partial<MachineFacts>;
}

/** A drill whose Node and machine change right before the stop. */
const drillWith = async (change: Change, more: Partial<DrillCluster> = {}, others: readonly Cluster[] = []) => {
  const { clock } = virtualClock();
  const calls: string[] = [];
  let [stops, reservedBy]: [boolean, string | null] = [false, null];
  const nodeNow = () => node(stops ? change.node : {});
  const home = clusterThat({
    look: async () => cluster({ node: nodeNow(), pods: [], volumes: [] }),
    surveyConnectivity: async () => alone,
  });
  const canary = {
    pod: { uid: 'p', node: 'node-a', ready: true, deleting: false, waits: null },
    volume: null,
    here: attachment(),
    there: null,
  };
  const tools: DrillTools = {
    cloud: cloudThat({
      look: async () => [{ ...running, ...(stops && change.machine) }],
      powerOff: async () => void calls.push('power-off'),
    }),
    drillCloud: { inspect: async () => drilledMachine, start: async () => void calls.push('start') },
    cluster: home,
    clusters: [home, ...others],
    drillCluster: {
      ...commands,
      inspect: async () => drilledNode({ reservedBy }),
      reserve: async ({ drill }) => void (reservedBy = drill),
      free: async () => void calls.push('free'),
      create: async () => undefined,
      canary: async () => canary,
      node: async () => nodeNow(),
      remove: async () => {
        calls.push('remove');
        return [];
      },
      ...more,
    },
    clock,
    drill: 'this',
    signal: never,
    giveUp: never,
    tell: (says) => void (stops ||= says.startsWith('stops')),
    confirm: async () => true,
    fenceHere: null,
  };
  const result = await conductDrill(
    {
      target: { node: 'node-a', machine: 'm-1' },
      canary: { namespace: 'default', image: 'example.org/pause:1', storageClass: null },
      checks: { policy: defaultPolicy, suspendedGroup: null },
      timeout: 3_000,
      dryRun: false,
    },
    tools,
  );
  return { ...result, calls };
};

const lost = () => Promise.reject(new Unavailable('no answer'));
const refused = () => Promise.reject(new Refused('it belongs to another drill'));
const BOOTED = /^the Node or its machine is another one, or has booted since: nothing was stopped$/;

describe('a drill', () => {
  it('stops the machine if nothing has changed', async () => {
    const { calls, stoppedAt } = await drillWith({});
    expect(stoppedAt).not.toBeNull();
    expect(calls).toEqual(['power-off', 'remove', 'free']);
  });

  it.each<[string, Change, RegExp]>([
    ['the Node was registered anew', { node: { uid: 'another' } }, BOOTED],
    ['the Node has booted', { node: { bootID: 'another' } }, BOOTED],
    ['another machine has the name', { machine: { incarnation: { id: 'another', made: null } } }, BOOTED],
    [
      'the machine stops',
      { machine: { power: 'stopping' } },
      /^nothing was stopped: the cloud does not say that m-1 runs/,
    ],
    ['the Node is fenced', { node: { label: 'run.1' } }, /^nothing was stopped: Node node-a is fenced/],
  ])('stops nothing if, since the person agreed, %s', async (_, change, words) => {
    const { calls, end, says, stoppedAt, left } = await drillWith(change);
    expect([end, stoppedAt, left, calls]).toEqual(['failed', null, [], ['remove', 'free']]);
    expect(says).toMatch(words);
  });

  it('refuses a machine that a Node of another cluster names, too', async () => {
    const other = clusterThat({ name: 'green', find: async () => ['node-z'] });
    const { calls, end, says } = await drillWith({}, {}, [other]);
    expect([end, calls]).toEqual(['refused', []]);
    expect(says).toMatch(/^more than one Node names m-1.*node-a in blue, node-z in green/);
  });

  it.each<[string, Partial<DrillCluster>, readonly string[]]>([
    ['removes the canary if the answer to its creation was lost', { create: lost }, ['remove', 'free']],
    ['leaves a canary that another drill has created', { create: refused }, ['free']],
    ['ends a reservation whose answer was lost', { reserve: lost }, ['free']],
    ['leaves the reservation of another drill', { reserve: refused }, []],
  ])('%s', async (_, spoiled, expected) => {
    const { calls, stoppedAt } = await drillWith({}, spoiled);
    expect([calls, stoppedAt]).toEqual([expected, null]);
  });
});
