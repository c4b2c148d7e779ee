import { describe, expect, it } from 'vitest';
import { ProofExpired } from '../../fencing/model/errors.ts';
import { permitUntil } from '../../fencing/model/permit.ts';

const permitAt = (mono: number, expires: number) => {
  const timers: number[] = [];
  const never = new AbortController().signal;
  const permit = permitUntil(expires, {
    now: () => ({ mono }),
    timeout: (ms) => {
      timers.push(ms);
      return never;
    },
  });
  return { permit, timers };
};

describe('a permit', () => {
  it.each([0, 1_999, 1_999.9])('allows the call %s ms after the read', (mono) => {
    expect(permitAt(mono, 2_000).permit.check).not.toThrow();
  });

  it.each([
    [2_000, 'the proof is 0 ms too old'],
    [2_000.6, 'the proof is 1 ms too old'],
    [62_000, 'the proof is 60000 ms too old'],
  ])('allows nothing %s ms after the read', (mono, says) => {
    const { check } = permitAt(mono, 2_000).permit;
    expect(check).toThrow(ProofExpired);
    expect(check).toThrow(says);
  });

  it.each([
    [500, 1_500],
    [2_000, 0],
    [9_000, 0],
  ])('that begins %s ms after the read ends a call in flight after %s ms', (mono, ms) => {
    expect(permitAt(mono, 2_000).timers).toEqual([ms]);
  });

  it('of a call that is sent with others also ends with the recheck', () => {
    const check = (mono: number, leaveBy: number) => () =>
      permitUntil(2_000, { now: () => ({ mono }), timeout: () => new AbortController().signal }, leaveBy).check();
    expect(check(499, 500)).not.toThrow();
    expect(check(500, 500)).toThrow('the recheck is 0 ms too old');
    expect(check(2_000, 2_500)).toThrow('the proof is 0 ms too old');
    expect(check(2_000, 2_000)).toThrow('the proof is 0 ms too old');
  });
});
