import { describe, expect, it } from 'vitest';
import { createSharedLooks } from '../../fencing/loop/groups.ts';
import { Refused, Throttled, Unavailable } from '../../fencing/model/errors.ts';
import type { MachineFacts, MachineId } from '../../fencing/model/machine.ts';
import { cloudThat, portsThat } from './ports.ts';
import { machine, NOW } from './view-builder.ts';

/** One call for the machines of one account and region, and how long the next call waits. */

interface AskedCall {
  readonly machines: readonly MachineId[];
  readonly disks: boolean;
  readonly mono: number;
}

type Answer = (call: AskedCall) => readonly MachineFacts[] | Error;

const never = new AbortController().signal;
const everyFact: Answer = ({ machines }) => machines.map((id) => machine({ machine: id }));

/** A cloud whose calls take 100 ms of a clock that moves only when something waits for it. */
const looksAt = (answer: Answer = everyFact, runs = 1, outer = new AbortController()) => {
  const calls: AskedCall[] = [];
  const rests: number[] = [];
  let mono = 0;
  const clock = {
    ...portsThat().clock,
    now: () => ({ wall: NOW + mono, mono }),
    sleep: async (ms: number, signal: AbortSignal) => {
      signal.throwIfAborted();
      rests.push(ms);
      mono += ms;
    },
  };
  const cloud = cloudThat({
    sharedLookScope: (id) => (id === 'elsewhere' ? 'b' : id === 'nowhere' ? null : 'a'),
    look: async (machines, { disks }) => {
      const call = { machines, disks, mono };
      calls.push(call);
      await new Promise((resolve) => setImmediate(resolve));
      mono += 100;
      const says = answer(call);
      if (says instanceof Error) throw says;
      return says;
    },
  });
  const ports = { cloud, clock, signal: outer.signal };
  return { calls, rests, looks: createSharedLooks(ports, () => runs) };
};

const outcomesOf = async (all: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(all)).map((one) => (one.status === 'rejected' ? one.reason : 'answered'));

describe('the look of a run that is alone', () => {
  it('is sent at once, and its age counts from then', async () => {
    const { calls, rests, looks } = looksAt();
    expect(await looks.look('m-1', true, never)).toEqual({
      value: machine({ machine: 'm-1' }),
      requestedAt: { wall: NOW, mono: 0 },
      receivedAt: 100,
    });
    await looks.look('m-1', false, never);
    expect(calls).toEqual([
      { machines: ['m-1'], disks: true, mono: 0 },
      { machines: ['m-1'], disks: false, mono: 100 },
    ]);
    expect(rests).toEqual([]);
  });

  it.each([1, 2])('fails after one call if the answer does not contain the machine (runs: %i)', async (runs) => {
    const { calls, looks } = looksAt(() => [], runs);
    await expect(looks.look('m-1', true, never)).rejects.toThrow('the response of the cloud does not contain m-1');
    expect(calls).toHaveLength(1);
  });

  it.each([1, 2])('fails after one call if the cloud declines it (runs: %i)', async (runs) => {
    const declined = new Refused('m-1 is not an id');
    const { calls, looks } = looksAt(() => declined, runs);
    await expect(looks.look('m-1', true, never)).rejects.toBe(declined);
    expect(calls).toHaveLength(1);
  });

  it('is not repeated if the cloud does not answer', async () => {
    const gone = new Unavailable('no response');
    const { calls, looks } = looksAt(() => gone);
    await expect(looks.look('m-1', true, never)).rejects.toBe(gone);
    expect(calls).toHaveLength(1);
  });

  it('is not sent if it was aborted before', async () => {
    const { calls, looks } = looksAt();
    await expect(looks.look('m-1', true, AbortSignal.abort(new Unavailable('over')))).rejects.toThrow('over');
    expect(calls).toEqual([]);
  });
});

describe('a look at a machine of an unknown account or region', () => {
  it('ends when its run has no time left, even if the invocation continues', async () => {
    const over = new AbortController();
    const cloud = cloudThat({
      sharedLookScope: () => null,
      look: (_, __, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const asked = createSharedLooks({ ...portsThat({ cloud }), signal: never }, () => 1).look('m-1', true, over.signal);
    over.abort(new Unavailable('the time is up'));
    await expect(asked).rejects.toThrow('the time is up');
  });
});

describe('looks that arrive while another one is being answered', () => {
  it('are sent as one call, and each gets the answer about its own machine', async () => {
    const { calls, looks } = looksAt();
    const first = looks.look('m-1', false, never);
    const [, second, third] = await Promise.all([
      first,
      looks.look('m-2', false, never),
      looks.look('m-3', false, never),
    ]);
    expect(calls).toEqual([
      { machines: ['m-1'], disks: false, mono: 0 },
      { machines: ['m-2', 'm-3'], disks: false, mono: 100 },
    ]);
    expect([second.value.machine, second.requestedAt.mono]).toEqual(['m-2', 100]);
    expect([third.value.machine, third.requestedAt.mono, third.receivedAt]).toEqual(['m-3', 100, 200]);
  });

  it('without disks do not wait for those with disks', async () => {
    const { calls, looks } = looksAt();
    await Promise.all([looks.look('m-1', true, never), looks.look('m-2', false, never)]);
    expect(calls).toEqual([
      { machines: ['m-1'], disks: true, mono: 0 },
      { machines: ['m-2'], disks: false, mono: 0 },
    ]);
  });

  it('do not wait for those of another account or region', async () => {
    const { calls, looks } = looksAt();
    await Promise.all(['m-1', 'elsewhere', 'nowhere'].map((id) => looks.look(id, true, never)));
    expect(calls.map(({ machines, mono }) => [machines, mono])).toEqual([
      [['m-1'], 0],
      [['elsewhere'], 0],
      [['nowhere'], 0],
    ]);
  });

  it('wait for others, longest if there are a few runs and none is in a hurry', async () => {
    const startsOf = async (runs: number, disks: boolean) => {
      const { calls, looks } = looksAt(everyFact, runs);
      await Promise.all(['m-1', 'm-2'].map((id) => looks.look(id, disks, never)));
      return calls.map(({ mono }) => mono);
    };
    expect(await startsOf(3, false)).toEqual([0, 300]);
    expect(await startsOf(50, false)).toEqual([0, 600]);
    expect(await startsOf(3, true)).toEqual([0, 1_300]);
    expect(await startsOf(10, true)).toEqual([0, 3_100]);
    expect(await startsOf(50, true)).toEqual([0, 700]);
  });

  it('do not include a machine whose run has given up', async () => {
    const { calls, looks } = looksAt();
    const gaveUp = new AbortController();
    const all = [
      looks.look('m-1', true, never),
      looks.look('m-2', true, gaveUp.signal),
      looks.look('m-3', true, never),
    ];
    gaveUp.abort(new Unavailable('given up'));
    expect(await outcomesOf(all)).toEqual(['answered', new Unavailable('given up'), 'answered']);
    expect(calls.map(({ machines }) => machines)).toEqual([['m-1'], ['m-3']]);
  });

  it('are all sent, at whichever moment one follows another', async () => {
    const { calls, looks } = looksAt();
    for (let moments = 0; moments < 30; moments += 1) {
      await looks.look('m-1', true, never);
      for (let moment = 0; moment < moments; moment += 1) await Promise.resolve();
    }
    expect(calls).toHaveLength(30);
  });

  it('are sent one by one if the call fails because of one machine', async () => {
    const spoiled = new Refused('m-2 is not an id');
    const { looks } = looksAt((call) => (call.machines.includes('m-2') ? spoiled : everyFact(call)));
    const all = ['m-1', 'm-2', 'm-3'].map((id) => looks.look(id, true, never));
    expect(await outcomesOf(all)).toEqual(['answered', spoiled, 'answered']);
  });

  it('are answered even if the answer omits one machine, whose own look then says why', async () => {
    const silent = new Unavailable('another territory does not answer');
    const { calls, looks } = looksAt(({ machines }) => {
      if (machines.length === 1 && machines[0] === 'm-2') return silent;
      return machines.filter((id) => id !== 'm-2').map((id) => machine({ machine: id }));
    });
    const all = ['m-1', 'm-2', 'm-3'].map((id) => looks.look(id, true, never));
    expect(await outcomesOf(all)).toEqual(['answered', silent, 'answered']);
    expect(calls.map(({ machines }) => machines)).toEqual([['m-1'], ['m-2', 'm-3'], ['m-2']]);
  });

  it('are sent one by one if the call fails because a machine is in a zone that does not answer', async () => {
    const gone = new Unavailable('no response');
    const { calls, looks } = looksAt((call) => (call.machines.includes('m-2') ? gone : everyFact(call)));
    const all = ['m-1', 'm-2', 'm-3'].map((id) => looks.look(id, true, never));
    expect(await outcomesOf(all)).toEqual(['answered', gone, 'answered']);
    expect(calls.map(({ machines }) => machines)).toEqual([['m-1'], ['m-2', 'm-3'], ['m-2'], ['m-3']]);
  });

  it('all fail if the cloud does not answer about any of them', async () => {
    const gone = new Unavailable('no response');
    const { calls, looks } = looksAt(() =>
      calls.length === 1 ? everyFact({ machines: ['m-1'], disks: true, mono: 0 }) : gone,
    );
    const all = ['m-1', 'm-2', 'm-3'].map((id) => looks.look(id, true, never));
    expect(await outcomesOf(all)).toEqual(['answered', gone, gone]);
    expect(calls).toHaveLength(4);
  });

  it('all end when the invocation ends', async () => {
    const outer = new AbortController();
    const over = new Unavailable('the invocation is over');
    const { looks } = looksAt(
      (call) => {
        outer.abort(over);
        return everyFact(call);
      },
      3,
      outer,
    );
    const all = ['m-1', 'm-2'].map((id) => looks.look(id, true, never));
    expect(await outcomesOf(all)).toEqual([over, over]);
  });
});

describe('a look that the cloud throttles', () => {
  const throttled = new Throttled('RequestLimitExceeded');

  it('is repeated after a pause that doubles, and its age counts from the call that was answered', async () => {
    const { calls, looks } = looksAt((call) => (calls.length < 4 ? throttled : everyFact(call)));
    const { requestedAt } = await looks.look('m-1', true, never);
    expect(calls.map(({ mono }) => mono)).toEqual([0, 350, 950, 2_050]);
    expect(requestedAt.mono).toBe(2_050);
  });

  it('is repeated together with the looks that arrived meanwhile', async () => {
    const { calls, looks } = looksAt((call) => (calls.length < 2 ? throttled : everyFact(call)));
    await Promise.all(['m-1', 'm-2'].map((id) => looks.look(id, true, never)));
    expect(calls.map(({ machines }) => machines)).toEqual([['m-1'], ['m-1', 'm-2']]);
  });

  it('fails after five calls, so that the run can say why it waits', async () => {
    const { calls, looks } = looksAt(() => throttled);
    await expect(looks.look('m-1', true, never)).rejects.toBe(throttled);
    expect(calls).toHaveLength(5);
  });

  it('pauses no longer than four seconds', async () => {
    const { rests, looks } = looksAt(() => throttled);
    for (const id of ['m-1', 'm-2']) await expect(looks.look(id, true, never)).rejects.toBe(throttled);
    expect([rests.slice(0, 6), Math.max(...rests)]).toEqual([[250, 500, 1_000, 2_000, 4_000, 4_000], 4_000]);
  });

  it('pauses less after each success', async () => {
    const { calls, looks } = looksAt((call) => (calls.length < 2 ? throttled : everyFact(call)));
    for (const id of ['m-1', 'm-2', 'm-3']) await looks.look(id, true, never);
    expect(calls.map(({ mono }) => mono)).toEqual([0, 350, 637.5, 878.125]);
  });
});
