import { describe, expect, it } from 'vitest';
import type { Clock } from '../../fencing/loop/ports.ts';
import { sleepOrPoll } from '../../fencing/loop/sleep.ts';
import type { AttachmentFacts } from '../../fencing/model/cluster-facts.ts';
import { Unavailable } from '../../fencing/model/errors.ts';
import { patience } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import { begun, clusterThat, portsThat } from './ports.ts';
import { ago, attachment, NOW } from './view-builder.ts';

/** How a run waits for attachments: what it asks meanwhile, and what ends the wait. */

const location = { cluster: 'blue', node: 'node-a' };
const going = (name: string, change: Partial<AttachmentFacts> = {}): AttachmentFacts =>
  attachment({ name, uid: name, deletingSince: Date.parse(ago(1_000)), ...change });

/** A clock that only sleeps move. */
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

const waited = async (names: readonly string[], answer: Answer, { ms = 5_000, deletedBy = 60_000, polls = 0 } = {}) => {
  const { clock, now } = sleepingClock();
  const asked: string[] = [];
  const blue = clusterThat({
    attachment: async (name) => {
      asked.push(`${name} ${now()}`);
      return answer(name, now());
    },
  });
  const until = { attachments: names.map((name) => going(name)), deletedBy };
  const known = begun({ location });
  const result = await sleepOrPoll(
    { do: 'sleep', ms, because: because('attachments-going', ''), until },
    { ...known, memory: { ...known.memory, polls } },
    portsThat({ clusters: [blue], clock }),
  );
  return { result, asked, lasted: now() };
};

describe('a wait for attachments', () => {
  it('asks for one of them, less and less often, until its time is over', async () => {
    const { asked, lasted, result } = await waited(['a', 'b'], stands, { ms: 1_500 });
    expect(asked).toEqual(['a 250', 'a 575', 'a 998']);
    expect([lasted, result]).toEqual([1_500, { to: 'sleep', polls: 3 }]);
    expect((await waited(['a'], stands, { ms: 2_500, polls: 50 })).asked).toEqual([`a ${patience.pollLongest}`]);
  });

  it('ends once all are gone, and asks for the others when the first is', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const { asked, lasted } = await waited(names, (name, mono) => (mono < 300 ? going(name) : null));
    expect(asked).toEqual(['a 250', 'a 575', 'b 575', 'c 575', 'd 575', 'e 575']);
    expect(lasted).toBe(575);
  });

  it('goes on with those that are left', async () => {
    const { asked } = await waited(['a', 'b', 'c', 'd'], (name) => (name === 'b' ? going(name) : null), { ms: 600 });
    expect(asked).toEqual(['a 250', 'b 250', 'c 250', 'b 575']);
  });

  it.each<readonly [string, Answer]>([
    ['another attachment has the name', (name) => going(name, { uid: 'another' })],
    ['its driver reports an error', (name) => going(name, { detachError: 'timeout' })],
    ['nobody deletes it by then', (name) => going(name, { deletingSince: null })],
  ])('ends if %s', async (_, answer) => {
    expect(await waited(['a'], answer, { deletedBy: 250 })).toMatchObject({ lasted: 250, result: { polls: 1 } });
  });

  it('does not end before a deletion has to begin', async () => {
    const { lasted } = await waited(['a'], (name) => going(name, { deletingSince: null }), { deletedBy: 900 });
    expect(lasted).toBe(998);
  });

  it('does not end because a deletion that has begun takes long', async () => {
    expect((await waited(['a'], stands, { ms: 1_500, deletedBy: 250 })).lasted).toBe(1_500);
  });

  it('ends if one of several that are asked side by side needs a look', async () => {
    const answer: Answer = (name) => {
      if (name === 'a') return null;
      return going(name, name === 'c' ? { detachError: 'timeout' } : {});
    };
    expect((await waited(['a', 'b', 'c'], answer)).lasted).toBe(250);
  });

  it('fails if the cluster does not answer', async () => {
    const silent = (): never => {
      throw new Unavailable('no route to host');
    };
    await expect(waited(['a'], silent)).rejects.toThrow('no route');
  });
});
