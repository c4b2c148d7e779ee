import { describe, expect, it } from 'vitest';
import { actOn, type Command } from '../../fencing/loop/command.ts';
import type { Clock, Ports } from '../../fencing/loop/ports.ts';
import { executeCommand, runAll, run } from '../../fencing/loop/run.ts';
import type { Cloud } from '../../fencing/model/cloud.ts';
import type { Recheck } from '../../fencing/model/cluster-facts.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { PermissionDenied, ProofExpired, Refused, Unavailable } from '../../fencing/model/errors.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import { stepKey, type Step } from '../../fencing/model/steps.ts';
import { begun, cloudThat, clusterThat, portsThat, steppingClock } from './ports.ts';
import { alone, admitted, cluster, machine, NOW } from './view-builder.ts';

/** Checks which call the driver makes for each command, and what it returns. */

const location = { cluster: 'blue', node: 'node-a' };
const known = begun({ location });
const deletePod: Step = { do: 'delete-pod', pod: { namespace: 'default', name: 'db-0', uid: 'pod-uid' } };
const target = { machine: 'm-1', incarnation: null };
const reservation = { machine: 'm-1', boot: 'boot-1', cap: defaultPolicy.cap, onlyAsked: false };
const act = (step: Step, expires = 5_000): Command =>
  actOn(location, { step, because: because('off-proven', 'off') }, expires);
const lookOnly = { do: 'look', machine: false, cluster: false, disks: true, search: false } as const;
const asked = { wall: NOW + 1_000, mono: 1_000 };
const execute = (command: Command, ports: Partial<Ports>) =>
  command.do === 'finish' ? null : executeCommand(command, known, portsThat(ports));

const expiryOf = ({ check }: Permit): 'valid' | 'ended' => {
  try {
    check();
    return 'valid';
  } catch (error) {
    if (error instanceof ProofExpired) return 'ended';
    throw error;
  }
};

describe('a question', () => {
  it('about disks goes to the cloud, for the run’s machine', async () => {
    const cloud = cloudThat({
      witness: async (id, disks) => (id === 'm-1' && disks[0] === 'disk-1' ? 'held' : 'none'),
    });
    expect(await execute({ do: 'witness', disks: ['disk-1'] }, { cloud })).toEqual({ to: 'witness', value: 'held' });
  });

  it('about all Nodes goes to the cluster, and its answer has the time at which it was asked', async () => {
    const blue = clusterThat({ surveyConnectivity: async () => alone });
    expect(await execute({ do: 'survey-connectivity', node: 'node-a' }, { clusters: [blue] })).toEqual({
      to: 'survey-connectivity',
      value: alone,
      requestedAt: { wall: NOW + 1_020, mono: 1_020 },
    });
  });

  it('right before a step goes to the cluster, and its answer has its time and the step', async () => {
    const says = {
      uid: 'node-uid',
      recordText: null,
      taints: { outOfService: false, ours: false, quarantine: false },
      lease: null,
    };
    const blue = clusterThat({ recheck: async (node) => ({ ...says, uid: node }) });
    expect(await execute({ do: 'recheck', location, node: 'node-a', step: deletePod }, { clusters: [blue] })).toEqual({
      to: 'recheck',
      value: { ...says, uid: 'node-a' },
      requestedAt: { wall: NOW + 1_020, mono: 1_020 },
      step: stepKey(deletePod),
    });
  });
});

it.each<[string, Exclude<Command, { do: 'finish' }>, object]>([
  ['the machine', { ...lookOnly, machine: true }, { machine: { requestedAt: asked, receivedAt: 2_000 } }],
  ['the cluster', { ...lookOnly, cluster: true }, { cluster: { requestedAt: asked, receivedAt: 2_000 } }],
  ['all Nodes', { do: 'survey-connectivity', node: 'node-a' }, { requestedAt: asked }],
  ['a Node before a step', { do: 'recheck', location, node: 'node-a', step: deletePod }, { requestedAt: asked }],
])('an answer about %s that takes a second is as old as its question', async (_, command, times) => {
  let mono = asked.mono;
  const afterASecond =
    <T>(answer: T) =>
    async (): Promise<T> => {
      mono += 1_000;
      return answer;
    };
  const taints = { outOfService: false, ours: false, quarantine: false };
  const blue = clusterThat({
    look: afterASecond(cluster()),
    surveyConnectivity: afterASecond(alone),
    recheck: afterASecond({ uid: 'node-uid', recordText: null, taints, lease: null }),
  });
  const ports = { cloud: cloudThat({ look: afterASecond([machine()]) }), clusters: [blue] };
  const clock = { ...portsThat({}).clock, now: () => ({ wall: NOW + mono, mono }) };
  expect(await execute(command, { ...ports, clock })).toMatchObject(times);
});

describe('an entry in the ledger', () => {
  it('is claimed and concluded in the machine’s cluster', async () => {
    const concluded: unknown[] = [];
    const blue = clusterThat({ reserve: async () => admitted, conclude: async (ended) => void concluded.push(ended) });
    const reservation = { machine: 'm-1', boot: 'b', cap: defaultPolicy.cap, onlyAsked: false };
    expect(await execute({ do: 'reserve', location, reservation, markToRecheck: null }, { clusters: [blue] })).toEqual({
      to: 'reserve',
      value: admitted,
      recheck: null,
    });
    expect(await execute({ do: 'conclude', location, boot: 'b' }, { clusters: [blue] })).toEqual({ to: 'conclude' });
    expect(concluded).toEqual([{ machine: 'm-1', boot: 'b' }]);
  });
});

describe('a reservation that also rechecks the Node for the mark', () => {
  const reservation = { machine: 'm-1', boot: 'b', cap: defaultPolicy.cap, onlyAsked: false };
  const markToRecheck = { node: 'node-a', step: 'mark node-uid' };
  const says: Recheck = {
    uid: 'node-uid',
    recordText: null,
    taints: { outOfService: false, ours: false, quarantine: false },
    lease: null,
  };
  const afterClaiming = (ms: number) => {
    let mono = 1_000;
    const clock = { ...portsThat({}).clock, now: () => ({ wall: NOW + mono, mono }) };
    const claiming = async () => {
      mono += ms;
      return admitted;
    };
    const blue = clusterThat({ reserve: claiming, recheck: async () => says });
    return execute({ do: 'reserve', location, reservation, markToRecheck }, { clusters: [blue], clock });
  };

  it('rechecks the Node at the same time', async () => {
    const requestedAt = { wall: NOW + 1_000, mono: 1_000 };
    expect(await afterClaiming(499)).toEqual({
      to: 'reserve',
      value: admitted,
      recheck: { value: says, requestedAt, step: markToRecheck.step },
    });
  });

  it('drops the recheck if the reservation took half a second', async () => {
    expect(await afterClaiming(500)).toEqual({ to: 'reserve', value: admitted, recheck: null });
  });
});

describe('an Event', () => {
  const done = { type: 'Normal' as const, reason: 'Fenced', message: 'done' };
  const events = (['node-a', 'node-b', 'node-c'] as const).map((name) => ({
    about: { kind: 'Node' as const, name, uid: null },
    event: done,
  }));

  it('is recorded about its subject', async () => {
    const recorded: unknown[] = [];
    const blue = clusterThat({ recordEvent: async (...args) => void recorded.push(args.slice(0, 2)) });
    expect(await execute({ do: 'record-events', location, events }, { clusters: [blue] })).toEqual({
      to: 'record-events',
    });
    expect(recorded).toEqual(events.map(({ about, event }) => [about, event]));
  });

  it('that fails does not prevent the others, and its error is the answer', async () => {
    const recorded: string[] = [];
    const blue = clusterThat({
      recordEvent: async ({ name }) => {
        if (name === 'node-a') throw new PermissionDenied('no');
        recorded.push(name);
      },
    });
    expect(await execute({ do: 'record-events', location, events }, { clusters: [blue] })).toMatchObject({
      to: 'failed',
      error: { message: 'no' },
    });
    expect(recorded).toEqual(['node-b', 'node-c']);
  });
});

describe('a step', () => {
  const applied = (ports: Pick<Ports, 'clusters' | 'cloud'>, step: Step, expires?: number) =>
    execute(act(step, expires), ports);

  it('in the cluster is applied there, with a permit that ends when its proof does', async () => {
    const permits: string[] = [];
    const blue = clusterThat({
      apply: async (step, permit) => {
        permits.push(`${step.do} ${expiryOf(permit)}`);
        return 'already';
      },
    });
    const ports = { clusters: [clusterThat({ name: 'green' }), blue], cloud: cloudThat() };
    expect(await applied(ports, deletePod)).toEqual({
      to: 'act',
      answers: ['already'],
      sentAt: { wall: NOW + 1_020, mono: 1_020 },
    });
    await applied(ports, deletePod, 1_000);
    expect(permits).toEqual(['delete-pod valid', 'delete-pod ended']);
  });

  it.each([
    [{ do: 'detach-disk', from: target, disk: 'disk-1', mode: 'forced' }, 'detach m-1 disk-1 forced'],
    [{ do: 'power-off', target }, 'power off m-1'],
  ] as const)('in the cloud is sent there, and only there: %j', async (step, ordered) => {
    const orders: string[] = [];
    const cloud: Cloud = cloudThat({
      detach: async (from, disk, mode, permit) =>
        void orders.push(`detach ${from.machine} ${disk} ${mode} ${expiryOf(permit)}`),
      powerOff: async ({ machine: id }, permit) => void orders.push(`power off ${id} ${expiryOf(permit)}`),
    });
    expect(await applied({ clusters: [clusterThat()], cloud }, step)).toMatchObject({ to: 'act', answers: ['done'] });
    expect(await applied({ clusters: [clusterThat()], cloud }, step, 0)).toMatchObject({ answers: ['done'] });
    expect(orders).toEqual([`${ordered} valid`, `${ordered} ended`]);
    const no = () => Promise.reject(new Refused('no'));
    const refusing = cloudThat({ detach: no, powerOff: no });
    expect(await applied({ clusters: [clusterThat()], cloud: refusing }, step)).toMatchObject({
      answers: [{ name: 'Refused', message: 'no' }],
    });
  });

  it('is sent at the same time as others of its kind, and each has its own answer', async () => {
    const under: string[] = [];
    const all = Promise.withResolvers<'done'>();
    const blue = clusterThat({
      apply: async (step, permit) => {
        if (step.do !== 'delete-pod') return 'done';
        under.push(`${step.pod.uid} ${expiryOf(permit)}`);
        if (under.length === 3) all.resolve('done');
        if (step.pod.uid === 'refused') throw new Refused('no');
        return all.promise;
      },
    });
    const alongside = ['refused', 'third'].map((uid) => ({
      step: { do: 'delete-pod', pod: { namespace: 'default', name: uid, uid } } as const,
      because: because('off-proven', 'off'),
    }));
    const command: Command = {
      ...actOn(location, { step: deletePod, because: because('off-proven', 'off') }, 5_000),
      alongside,
    };
    const ports = { clusters: [blue] };
    expect(await execute(command, ports)).toMatchObject({ answers: ['done', { name: 'Refused' }, 'done'] });
    expect(under).toEqual(['pod-uid valid', 'refused valid', 'third valid']);
    under.length = 0;
    await execute({ ...command, leaveBy: 1_000 }, ports);
    expect(under).toEqual(['pod-uid valid', 'refused ended', 'third ended']);
    under.length = 0;
    await execute({ ...command, leaveBy: 1_000, isRechecked: false }, ports);
    expect(under).toEqual(['pod-uid ended', 'refused ended', 'third ended']);
  });

  it('in an unknown cluster is not sent', async () => {
    expect(await applied({ clusters: [clusterThat({ name: 'green' })], cloud: cloudThat() }, deletePod)).toMatchObject({
      to: 'act',
      answers: [{ name: 'InvalidConfiguration' }],
    });
  });
});

describe('a call that fails', () => {
  it('is an answer with the time at which it was sent, and keeps the error as its cause', async () => {
    const refused = new Refused('no');
    const says = (error: unknown) => {
      const apply = async () => {
        throw error;
      };
      return execute(act(deletePod), { clusters: [clusterThat({ apply })] });
    };
    const sentAt = { wall: NOW + 1_020, mono: 1_020 };
    expect(await says(refused)).toEqual({ to: 'act', answers: [refused], sentAt });
    const fault = new TypeError('x');
    expect(await says(fault)).toMatchObject({ answers: [{ name: 'Unexpected', cause: fault }] });
  });
});

describe('a call in flight', () => {
  const flying = (ports: Partial<Ports>, command: Command = { do: 'witness', disks: [] }) => {
    const given = Promise.withResolvers<AbortSignal>();
    const answer = Promise.withResolvers<'none'>();
    const cloud = cloudThat({
      witness: (_, __, signal) => {
        given.resolve(signal);
        return answer.promise;
      },
    });
    return { done: execute(command, { ...ports, cloud }), signal: given.promise, answer };
  };

  it('is aborted when the process is aborted', async () => {
    const process = new AbortController();
    const { signal, done, answer } = flying({ signal: process.signal });
    expect((await signal).aborted).toBe(false);
    process.abort();
    expect((await signal).aborted).toBe(true);
    answer.resolve('none');
    await done;
  });

  it('is aborted when its command ends, so that a failure leaves nothing behind', async () => {
    const { signal, done, answer } = flying({});
    answer.reject(new Unavailable('x'));
    await done;
    expect((await signal).aborted).toBe(true);
  });

  it.each([
    [60_000, 59_990],
    [1_005, 1_000],
    [0, 1_000],
  ])('may last a second longer than a run that ends at %s', async (deadline, ms) => {
    const timeUp = new AbortController();
    const timers: number[] = [];
    const clock: Clock = { ...steppingClock(), timeout: (after) => (timers.push(after), timeUp.signal) };
    const given = Promise.withResolvers<AbortSignal>();
    const cloud = cloudThat({
      witness: async (_, __, signal) => {
        given.resolve(signal);
        return 'none';
      },
    });
    const done = executeCommand({ do: 'witness', disks: [] }, { ...known, deadline }, portsThat({ clock, cloud }));
    expect(timers).toEqual([ms]);
    timeUp.abort();
    expect((await given.promise).aborted).toBe(true);
    await done;
  });

  it.each([
    ['a question', { do: 'witness', disks: [] }],
    ['a look', { do: 'look', machine: true, cluster: true, disks: true, search: false }],
    ['a reservation', { do: 'reserve', location, reservation, markToRecheck: null }],
    ['a recheck', { do: 'recheck', location, node: 'node-a', step: deletePod }],
    ['the end of a reservation', { do: 'conclude', location, boot: null }],
  ] as const)('that ignores its signal ends with the run: %s', async (_, command) => {
    const timeUp = new AbortController();
    const clock: Clock = { ...steppingClock(), timeout: () => timeUp.signal };
    const never = () => new Promise<never>(() => undefined);
    const cloud = cloudThat({ look: never, witness: never });
    const clusters = [clusterThat({ look: never, reserve: never, recheck: never, conclude: never })];
    const done = executeCommand(command, known, portsThat({ clock, cloud, clusters }));
    timeUp.abort();
    expect(await done).toMatchObject({ to: 'failed', error: { name: 'Unavailable', retry: true } });
  });

  it('that ignores its signal does not hide that another step took effect', async () => {
    const timeUp = new AbortController();
    const clock: Clock = { ...steppingClock(), timeout: () => timeUp.signal };
    const [first, second] = [deletePod, { ...deletePod, pod: { ...deletePod.pod, uid: 'other-uid' } }];
    const apply: Cluster['apply'] = (step) => (step === first ? new Promise(() => undefined) : Promise.resolve('done'));
    const reason = because('off-proven', 'off');
    const command = actOn(location, { step: first, because: reason }, 5_000);
    const done = executeCommand(
      { ...command, alongside: [{ step: second, because: reason }] },
      known,
      portsThat({ clock, clusters: [clusterThat({ apply })] }),
    );
    await new Promise(setImmediate);
    timeUp.abort();
    expect(await done).toMatchObject({ to: 'act', answers: [{ name: 'Unavailable' }, 'done'] });
  });

  it.each([
    ['conclude', 1_000, 1_990],
    ['record-events', 1_000, 1_990],
    ['record-events', 0, 990],
  ] as const)('%s leaves the function time for its answer if the run ends at %s', async (what, deadline, ms) => {
    const clock = steppingClock();
    const command = what === 'conclude' ? { do: what, location, boot: null } : { do: what, location, events: [] };
    const conclude = () => Promise.resolve();
    await executeCommand(command, { ...known, deadline }, portsThat({ clock, clusters: [clusterThat({ conclude })] }));
    expect(clock.timers).toEqual([ms]);
  });

  it('that the deadline aborts is not reported as a bug, and keeps the error as its cause', async () => {
    const timeUp = new AbortController();
    const clock: Clock = { ...steppingClock(), timeout: () => timeUp.signal };
    const caught = new TypeError('aborted');
    const cloud = cloudThat({
      witness: () => {
        timeUp.abort(caught);
        return Promise.reject(caught);
      },
    });
    expect(await executeCommand({ do: 'witness', disks: [] }, known, portsThat({ clock, cloud }))).toMatchObject({
      to: 'failed',
      error: { name: 'Unavailable', cause: caught },
    });
  });
});

describe('a pause', () => {
  it('sleeps for as long as the command says', async () => {
    const slept: number[] = [];
    const clock: Clock = { ...steppingClock(), sleep: async (ms) => void slept.push(ms) };
    expect(
      await execute({ do: 'sleep', ms: 700, because: because('not-fenced', 'x'), until: null }, { clock }),
    ).toEqual({
      to: 'sleep',
      polls: 0,
    });
    expect(slept).toEqual([700]);
  });
});

/** A cloud in which all machines run, and a cluster that has none of them. */
const quiet = (clusters: readonly Cluster[] = [nowhere()]) => {
  const looks: string[] = [];
  const cloud = cloudThat({
    look: async (ids, { disks }) => {
      looks.push(`${ids.join(' ')}${disks ? ' with disks' : ''}`);
      return ids.map((id) => machine({ machine: id, power: 'running', disks: [] }));
    },
  });
  return { looks, ports: portsThat({ cloud, clusters }) };
};

const nowhere = (name = 'blue'): Cluster =>
  clusterThat({
    name,
    find: async () => [],
    look: async () => cluster({ node: null, pods: [], volumes: [] }),
  });

describe('a run', () => {
  it('passes each command and its answer to the observer, and ends with an outcome', async () => {
    const seen: string[] = [];
    const { ports } = quiet();
    const observe: Ports['observe'] = (command, answer, after) =>
      void seen.push(`${command.do} ${answer.to} ${after.location?.node ?? 'nowhere'}`);
    const outcome = await run(begun(), { ...ports, observe });
    expect(outcome).toMatchObject({ machine: 'm-1', outcome: 'ignored', reason: { code: 'no-node' } });
    expect(seen[0]).toBe('look look nowhere');
    expect(seen).toContain('locate locate nowhere');
  });

  it('that fails unexpectedly ends alone, and does not report its facts, because they may be the cause', async () => {
    const { ports } = quiet();
    const observe: Ports['observe'] = () => {
      throw new TypeError('x');
    };
    const read = { value: machine(), requestedAt: { wall: NOW, mono: 0 }, receivedAt: 0 };
    const failed = await run({ ...begun({ location }), machine: read }, { ...ports, observe });
    expect(failed).toMatchObject({
      outcome: 'failed',
      cluster: 'blue',
      reason: { says: expect.stringContaining('TypeError: x') },
      machine: 'm-1',
    });
  });
});

it('a run whose invocation ends during a step reports the step, because it may have taken effect', async () => {
  const ending = new AbortController();
  const apply: Cluster['apply'] = async () => {
    ending.abort(new Unavailable('the invocation has ended'));
    return 'done';
  };
  const shown = cluster();
  const taints = { outOfService: false, ours: false, quarantine: false };
  const recheck = async () => ({ uid: 'node-uid', recordText: null, taints, lease: shown.lease });
  const blue = clusterThat({ look: async () => shown, recheck, reserve: async () => admitted, apply });
  const ports = { cloud: cloudThat({ look: async () => [machine()] }), clusters: [blue], signal: ending.signal };
  expect(await run(begun({ location }), portsThat(ports))).toMatchObject({
    outcome: 'failed',
    reason: { says: 'the invocation has ended' },
    steps: [{ step: 'mark', result: 'failed' }],
  });
});

describe('runs for several machines', () => {
  const runOptions = (change: object = {}) => {
    let runs = 0;
    return { policy: defaultPolicy, deadline: 60_000, newRunId: () => `run-${(runs += 1)}`, ...change };
  };

  it('begin with one look at all machines, each once, with their disks', async () => {
    const { looks, ports } = quiet();
    const outcomes = await runAll(['m-1', 'm-2', 'm-1'], runOptions(), ports);
    expect(outcomes.map(({ machine: id }) => id)).toEqual(['m-1', 'm-2']);
    expect(looks[0]).toBe('m-1 m-2 with disks');
    expect(looks).toHaveLength(1);
  });

  it('begin without a common look if there is only one machine', async () => {
    const { looks, ports } = quiet();
    await runAll(['m-1'], runOptions(), ports);
    expect(looks[0]).toBe('m-1 with disks');
    expect(looks).toHaveLength(1);
  });

  it('look at their machines themselves if the common look fails, or lacks their machine', async () => {
    const { looks, ports } = quiet();
    const { cloud } = ports;
    const look: Cloud['look'] = async (ids, ...rest) => {
      if (ids.length > 1) throw new Unavailable('slow');
      return cloud.look(ids, ...rest);
    };
    await runAll(['m-1', 'm-2'], runOptions(), { ...ports, cloud: { ...cloud, look } });
    expect(looks.toSorted()).toEqual(['m-1 with disks', 'm-2 with disks']);
    looks.length = 0;
    const half: Cloud['look'] = async (ids, ...rest) =>
      (await cloud.look(ids, ...rest)).filter(({ machine: id }) => ids.length === 1 || id !== 'm-2');
    await runAll(['m-1', 'm-2'], runOptions(), { ...ports, cloud: { ...cloud, look: half } });
    expect(looks).toEqual(['m-1 m-2 with disks', 'm-2 with disks']);
  });

  it('look at their machines themselves if the shared look does not end', async () => {
    const { looks, ports } = quiet();
    const clock: Clock = {
      ...ports.clock,
      timeout: (ms) => (ms < 40_000 ? AbortSignal.abort() : new AbortController().signal),
    };
    const look: Cloud['look'] = (ids, ...rest) =>
      ids.length > 1 ? new Promise(() => undefined) : ports.cloud.look(ids, ...rest);
    await runAll(['m-1', 'm-2'], runOptions(), { ...ports, clock, cloud: { ...ports.cloud, look } });
    expect(looks.toSorted()).toEqual(['m-1 with disks', 'm-2 with disks']);
  });

  it.each([
    ['are at most five at a time', null, [1, 1, 1, 1, 1]],
    ['become thirty at a time if one call of the cloud reads many machines', 'a', [1]],
  ] as const)('%s', async (_, place, first) => {
    const { ports } = quiet();
    const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
    const clock: Clock = { ...steppingClock(), sleep: nextTurn };
    const asked: number[] = [];
    const stopped = new AbortController();
    const look: Cloud['look'] = (ids) => {
      if (ids.length === 40) return Promise.reject(new Unavailable('slow'));
      asked.push(ids.length);
      return new Promise((resolve) => stopped.signal.addEventListener('abort', () => resolve([])));
    };
    const cloud = { ...ports.cloud, look, sharedLookScope: () => place };
    const machines = Array.from({ length: 40 }, (_unused, nth) => `m-${nth}`);
    const done = runAll(machines, runOptions(), { ...ports, cloud, clock });
    for (let period = 0; period < 40; period += 1) await nextTurn();
    expect(asked).toEqual(first);
    stopped.abort();
    for (let period = 0; period < 10; period += 1) await nextTurn();
    expect(asked[first.length]).toBe(place === null ? 1 : 29);
    void done;
  });

  it('leave no pause behind when all of them have ended', async () => {
    const { ports } = quiet();
    const pauses: AbortSignal[] = [];
    const sleep: Clock['sleep'] = (_ms, signal) => {
      pauses.push(signal);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const machines = Array.from({ length: 6 }, (_unused, nth) => `m-${nth}`);
    await runAll(machines, runOptions(), { ...ports, clock: { ...ports.clock, sleep } });
    expect(pauses.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('each have the time that is left, and their own run id', async () => {
    const starts: string[] = [];
    const { ports } = quiet();
    const observe: Ports['observe'] = (_, __, { deadline, runId, request, memory }) =>
      void starts.push(
        `${runId} ${request.machine} from ${memory.statedAt} until ${deadline} ${request.vouched ?? 'unvouched'}`,
      );
    const first = async (change: object) => {
      starts.length = 0;
      await runAll(['m-1'], runOptions(change), { ...ports, clock: steppingClock(), observe });
      return starts[0];
    };
    expect(await first({})).toBe('run-1 m-1 from 1010 until 60000 unvouched');
    expect(await first({ runLasts: 500 })).toBe('run-1 m-1 from 1010 until 1520 unvouched');
    expect(await first({ runLasts: 90_000 })).toBe('run-1 m-1 from 1010 until 60000 unvouched');
    expect(await first({ vouched: 'I saw it' })).toBe('run-1 m-1 from 1010 until 60000 I saw it');
  });

  it('start in the cluster, and at the Node, where their machine was seen', async () => {
    const nodes: (string | null)[] = [];
    const blue = clusterThat({
      look: async ({ node }) => {
        nodes.push(node);
        return cluster({ node: null, pods: [], volumes: [] });
      },
    });
    const hint = { location: { cluster: 'blue', node: 'node-z' }, ambiguity: null, attachments: null, steps: [] };
    await runAll(['m-1'], runOptions(), quiet([blue]).ports, new Map([['m-1', hint]]));
    expect(nodes[0]).toBe('node-z');
  });

  it('date a common look by its request and its answer', async () => {
    const times: unknown[] = [];
    const { ports } = quiet();
    const off = cloudThat({ look: async (ids) => ids.map((id) => machine({ machine: id, since: null })) });
    const observe: Ports['observe'] = (_, __, { memory, machine: read }) =>
      void times.push([read?.requestedAt, read?.receivedAt, memory.firstOff]);
    await runAll(['m-1', 'm-2'], runOptions({ deadline: 1_500 }), { ...ports, cloud: off, observe });
    const [requestedAt, receivedAt] = [{ wall: NOW + 1_030, mono: 1_030 }, 1_040];
    expect(times[0]).toEqual([
      requestedAt,
      receivedAt,
      expect.objectContaining({ wall: NOW + 1_040, mono: 1_040, generation: 'boot-1' }),
    ]);
  });
});

it('a run ends when its invocation ends, and does not try again until its deadline', async () => {
  const clock = steppingClock();
  const signal = AbortSignal.abort(new Unavailable('the invocation has ended'));
  const outcome = await run(begun({ deadline: 600_000 }), portsThat({ clock, signal }));
  expect(outcome).toMatchObject({ outcome: 'failed', reason: { says: 'the invocation has ended' } });
  expect(clock.now().mono).toBeLessThan(5_000);
});
