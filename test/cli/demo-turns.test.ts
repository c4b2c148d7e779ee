import { describe, expect, it } from 'vitest';
import { createCallSchedule } from '../../demo/platform.ts';

const virtual = () => {
  let time = 0;
  const turns = createCallSchedule(
    () => time,
    (at) => void (time = Math.max(time, at)),
  );
  const ended: string[] = [];
  /** A call whose request arrives at once, and whose answer takes some turns of the event loop. */
  const call = async (name: string, ms: number, after = 0): Promise<void> => {
    await turns.call(ms, async () => {
      turns.arrived();
      for (let n = 0; n < after; n += 1) await new Promise(setImmediate);
    });
    ended.push(`${name} at ${time}`);
  };
  return { turns, call, ended, now: () => time };
};

const never = new AbortController().signal;

describe('the virtual time of the demo', () => {
  it('lets concurrent calls overlap, and completes the shortest first', async () => {
    const { call, ended } = virtual();
    await Promise.all([call('long', 80), call('short', 8)]);
    expect(ended).toEqual(['short at 8', 'long at 80']);
  });

  it('completes consecutive calls while a longer call is under way', async () => {
    const { call, ended } = virtual();
    await Promise.all([call('long', 80), call('first', 8).then(() => call('second', 8))]);
    expect(ended).toEqual(['first at 8', 'second at 16', 'long at 80']);
  });

  it('keeps the order when the machine is slow', async () => {
    const { call, ended } = virtual();
    await Promise.all([call('slow', 8, 50).then(() => call('next', 8)), call('quick', 9)]);
    expect(ended).toEqual(['slow at 8', 'quick at 9', 'next at 16']);
  });

  it('sleeps in the same virtual time', async () => {
    const { turns, call, ended, now } = virtual();
    await Promise.all([turns.sleep(250, never), call('call', 80)]);
    expect([ended, now()]).toEqual([['call at 80'], 250]);
  });

  it('returns a failed call to its caller, and continues', async () => {
    const { turns, call, ended } = virtual();
    await expect(turns.call(5, () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
    await call('next', 5);
    expect(ended).toHaveLength(1);
  });

  it('does not finish a sleep that was aborted', async () => {
    const { turns } = virtual();
    await expect(turns.sleep(5, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  });
});
