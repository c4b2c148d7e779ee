import { describe, expect, it } from 'vitest';
import type { Clock } from '../../fencing/loop/ports.ts';
import { sleepOrPoll } from '../../fencing/loop/sleep.ts';
import type { AttachmentFacts } from '../../fencing/model/cluster-facts.ts';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import { timing } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import { begun, cloudThat, clusterThat, portsThat } from './ports.ts';
import { ago, attachment, machine, NOW } from './view-builder.ts';

/** How a run waits for attachments: what it asks in the meantime, and what ends the wait. */

const location = { cluster: 'blue', node: 'node-a' };
const going = (name: string, change: Partial<AttachmentFacts> = {}): AttachmentFacts =>
  attachment({ name, uid: name, deletingSince: Date.parse(ago(1_000)), ...change });

/** A clock that moves only while something sleeps. */
const sleepingClock = () => {
  let mono = 0;
  const clock: Clock = {
    now: () => ({ wall: NOW + mono, mono }),
    sleep: async (ms) => void (mono += ms),
    timeout: () => new AbortController().signal,
  };
  return { clock, now: () => mono };
};

type Answer = (name: string, mono: number) => AttachmentFacts | null;
const stands: Answer = (name) => going(name);

interface Waits {
  readonly ms?: number;
  readonly deletedBy?: number;
  readonly polls?: number;
  readonly fewTellAll?: boolean;
  /** When the time of the run ends. */
  readonly runEnds?: number;
  /** How long the answer about an attachment takes. */
  readonly takes?: number;
  /** Our mark on the Node. */
  readonly mark?: string | null;
  /** The machine as the look showed it, and as the cloud shows it during the wait. */
  readonly seen?: MachineFacts | null;
  readonly shown?: (mono: number) => MachineFacts;
}

const waited = async (names: readonly string[], answer: Answer, waits: Waits = {}) => {
  const { ms = 4_500, deletedBy = 60_000, polls = 0, fewTellAll = true, runEnds = 60_000, takes = 0 } = waits;
  const { mark = null, seen = machine(), shown = () => machine() } = waits;
  const { clock, now } = sleepingClock();
  const asked: string[] = [];
  const blue = clusterThat({
    attachment: async (name) => {
      asked.push(`${name} ${now()}`);
      await clock.sleep(takes, AbortSignal.any([]));
      return answer(name, now());
    },
  });
  const cloud = cloudThat({
    look: async (_, { disks }) => {
      asked.push(`machine ${now()}${disks ? ' with disks' : ''}`);
      return [shown(now())];
    },
  });
  const until = names.length > 0 ? { attachments: names.map((name) => going(name)), deletedBy, fewTellAll } : null;
  const known = begun({ location, deadline: runEnds });
  const result = await sleepOrPoll(
    { do: 'sleep', ms, because: because('attachments-going', ''), until },
    {
      ...known,
      machine: seen && { value: seen, requestedAt: clock.now(), receivedAt: 0 },
      memory: { ...known.memory, polls, mark },
    },
    portsThat({ clusters: [blue], cloud, clock }),
  );
  return { result, asked, lasted: now() };
};

const gone: Answer = () => null;

describe('a wait for attachments', () => {
  it('asks about one after the other, with growing pauses, until it ends', async () => {
    const { asked, lasted, result } = await waited(['a', 'b'], stands, { ms: 1_500 });
    expect(asked).toEqual(['a 250', 'b 583', 'a 1025']);
    expect([lasted, result]).toEqual([1_500, { to: 'sleep', polls: 3 }]);
    expect((await waited(['a'], stands, { ms: 2_500, polls: 50 })).asked).toEqual([`a ${timing.pollLongest}`]);
  });

  it('ends once the only one is gone', async () => {
    expect(await waited(['a'], gone)).toMatchObject({ asked: ['a 250'], lasted: 250 });
    expect(await waited(['a'], gone, { fewTellAll: false })).toMatchObject({ asked: ['a 250'], lasted: 250 });
  });

  const names = ['a', 'b', 'c', 'd', 'e'];

  it('ends once the first two are gone at the same time, because then usually all are gone', async () => {
    const { asked, lasted } = await waited(names, (name, mono) => (mono < 300 ? going(name) : null));
    expect(asked).toEqual(['a 250', 'b 583', 'e 583']);
    expect(lasted).toBe(583);
  });

  it('ends with the last one if they went one by one', async () => {
    const { asked, lasted } = await waited(names, (name, mono) => (mono > 300 || name === 'a' ? null : going(name)));
    expect(asked).toEqual(['a 250', 'd 250', 'b 583', 'e 583', 'd 583', 'c 583']);
    expect(lasted).toBe(583);
  });

  it('ends with the last one if an earlier look has shown that they go one by one', async () => {
    const { asked } = await waited(names, gone, { fewTellAll: false });
    expect(asked).toEqual(['a 250', 'd 250', 'c 250', 'e 250', 'b 250']);
  });

  it('continues with the others while the one that it asks about is still there', async () => {
    const { asked } = await waited(['a', 'b', 'c'], (name) => (name === 'a' ? null : going(name)), { ms: 1_500 });
    expect(asked).toEqual(['a 250', 'c 250', 'b 583', 'c 1025']);
  });

  it('asks no more when the time of the run ends', async () => {
    const waits = { ms: 1_000, runEnds: 1_000, fewTellAll: false, takes: 400 };
    const { asked, result } = await waited(names, gone, waits);
    expect(asked).toEqual(['a 250', 'd 650']);
    expect(result).toEqual({ to: 'sleep', polls: 1 });
  });

  it('asks no more when the wait ends', async () => {
    const waits = { ms: 1_000, fewTellAll: false, takes: 400 };
    const { asked, lasted } = await waited(names, gone, waits);
    expect(asked).toEqual(['a 250', 'd 650']);
    expect(lasted).toBe(1_050);
    expect((await waited(names, gone, { ...waits, ms: 650 })).asked).toEqual(['a 250']);
  });

  it.each<readonly [string, Answer]>([
    ['another attachment has the name', (name) => going(name, { uid: 'another' })],
    ['its driver reports an error', (name) => going(name, { detachError: 'timeout' })],
    ['nobody deletes it by then', (name) => going(name, { deletingSince: null })],
  ])('ends if %s', async (_, answer) => {
    expect(await waited(['a'], answer, { deletedBy: 250 })).toMatchObject({ lasted: 250, result: { polls: 1 } });
  });

  it('does not end while a deletion may still begin', async () => {
    const { lasted } = await waited(['a'], (name) => going(name, { deletingSince: null }), { deletedBy: 900 });
    expect(lasted).toBe(1_025);
  });

  it('ends if the deletion of one that it asked about before should have begun by then', async () => {
    const answer: Answer = (name) => going(name, name === 'a' ? { deletingSince: null } : {});
    expect((await waited(['a', 'b'], answer, { deletedBy: 500 })).asked).toEqual(['a 250', 'b 583']);
  });

  it('does not end only because a deletion takes long', async () => {
    expect((await waited(['a'], stands, { ms: 1_500, deletedBy: 250 })).lasted).toBe(1_500);
  });

  it('fails if the cluster does not answer', async () => {
    const silent = (): never => {
      throw new Unavailable('no route to host');
    };
    await expect(waited(['a'], silent)).rejects.toThrow('no route');
  });
});

describe('the machine during a wait for attachments', () => {
  const questions = async (waits: Waits) => {
    const { asked, lasted } = await waited(['a'], stands, { ms: 20_000, ...waits });
    return { asked: asked.filter((one) => one.startsWith('machine')), lasted };
  };

  it('is read every five seconds, without its disks', async () => {
    const { asked, lasted } = await questions({});
    expect(asked).toEqual(['machine 6659', 'machine 12659', 'machine 18659']);
    expect(lasted).toBe(20_000);
  });

  it.each<readonly [string, Partial<MachineFacts>]>([
    ['it runs', { power: 'running' }],
    ['it starts', { power: 'starting' }],
    ['nobody knows', { power: 'unknown' }],
    ['it was started in between', { generation: 'another boot' }],
  ])('ends the wait if %s', async (_, change) => {
    expect((await questions({ shown: () => machine(change) })).lasted).toBe(6_659);
  });

  it.each<readonly [string, Partial<MachineFacts>]>([
    ['an operation on it, which is the detach', { power: 'stopping', offUnderOperation: true }],
    ['a generation that changes with each detach', { generation: 'drifted', generationDrifts: true }],
  ])('does not end the wait because of %s', async (_, change) => {
    expect((await questions({ shown: () => machine(change) })).lasted).toBe(20_000);
  });

  it('is read in time, even if each answer about an attachment is slow', async () => {
    const many = Array.from({ length: 25 }, (_, at) => `a${at}`);
    const waits = { ms: 20_000, fewTellAll: false, takes: 2_000 };
    const { asked, lasted } = await waited(many, gone, { ...waits, shown: () => machine({ power: 'running' }) });
    expect(asked).toEqual(['a0 250', 'a13 2250', 'a12 4250', 'machine 6250']);
    expect(lasted).toBe(6_250);
    expect((await waited(many, gone, waits)).lasted).toBeLessThan(22_000);
  });

  it('does not end the wait while the cloud says the same as in the look, whatever that is', async () => {
    const suspended = machine({ power: 'suspended' });
    expect((await questions({ seen: suspended, shown: () => suspended })).lasted).toBe(20_000);
  });

  it('is not read if no look has read it before', async () => {
    expect((await questions({ seen: null })).asked).toEqual([]);
  });
});

describe('the machine during a wait for something else', () => {
  const under = 'fence-1 in boot-a';

  it('is read every five seconds while our mark is on the Node, and ends the wait if it runs', async () => {
    const waits = { ms: 12_000, mark: under };
    expect(await waited([], gone, waits)).toMatchObject({
      asked: ['machine 5000', 'machine 10000'],
      lasted: 12_000,
      result: { polls: 0 },
    });
    const shown = (mono: number) => machine(mono < 6_000 ? {} : { power: 'running' });
    expect((await waited([], gone, { ...waits, shown })).lasted).toBe(10_000);
  });

  it('is not read without a mark', async () => {
    expect(await waited([], gone, { ms: 12_000 })).toMatchObject({ asked: [], lasted: 12_000 });
  });
});
