import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { abortOnSignal, clusterAt, endInTime, errorOfCall, halfOf } from '../../fencing/loop/ports.ts';
import { InvalidConfiguration, Unavailable } from '../../fencing/model/errors.ts';
import { clusterThat, portsThat, steppingClock } from './ports.ts';

const never = (): Promise<never> => new Promise(() => undefined);

describe('a call that ends with its signal', () => {
  it('returns what the call returns, and then stops listening to the signal', async () => {
    const { signal } = new AbortController();
    expect(await abortOnSignal(signal, async () => 'answer')).toBe('answer');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('fails as the call fails, and then stops listening to the signal', async () => {
    const { signal } = new AbortController();
    await expect(abortOnSignal(signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('fails with the reason of the signal, even if the call ignores the signal', async () => {
    const controller = new AbortController();
    const waiting = abortOnSignal(controller.signal, never);
    controller.abort(new Error('time is up'));
    await expect(waiting).rejects.toThrow('time is up');
  });

  it('is not made once the signal has ended', async () => {
    const call = vi.fn(never);
    await expect(abortOnSignal(AbortSignal.abort(new Error('too late')), call)).rejects.toThrow('too late');
    expect(call).not.toHaveBeenCalled();
  });
});

describe('a call with a time limit', () => {
  it('has no time left when the caller has its answer', async () => {
    let given = AbortSignal.abort();
    const answer = await endInTime(1_000, portsThat(), async (signal) => {
      given = signal;
      return signal.aborted ? 'too late' : 'in time';
    });
    expect([answer, given.aborted]).toEqual(['in time', true]);
  });

  it('ends with its caller, too', async () => {
    const caller = new AbortController();
    const waiting = endInTime(1_000, portsThat({ signal: caller.signal }), (signal) => abortOnSignal(signal, never));
    caller.abort(new Unavailable('the user interrupted the command'));
    await expect(waiting).rejects.toThrow('the user interrupted the command');
  });

  it('may take half of what is left until the deadline', () => {
    const clock = { ...steppingClock(), now: () => ({ wall: 0, mono: 20_000 }) };
    expect(halfOf(80_000, { clock })).toBe(30_000);
  });
});

describe('the error of a call whose signal has ended', () => {
  const thrown = new DOMException('This operation was aborted', 'AbortError');

  it('says that the time is over, if nobody gave another reason', () => {
    expect(errorOfCall(thrown, AbortSignal.abort()).message).toMatch(/^the time limit ended/);
  });

  it('is the reason that ended the signal, if that reason has words for people', () => {
    const reason = new Unavailable('the user interrupted the command');
    const ended = AbortSignal.any([new AbortController().signal, AbortSignal.abort(reason)]);
    expect(errorOfCall(thrown, ended)).toBe(reason);
  });

  it('is what the call itself says about its answer', () => {
    const answer = new InvalidConfiguration(['no key']);
    expect(errorOfCall(answer, AbortSignal.abort(new Unavailable('the user interrupted the command')))).toBe(answer);
  });
});

describe('the cluster in which a run works', () => {
  const ports = portsThat({ clusters: [clusterThat({ name: 'one' }), clusterThat({ name: 'two' })] });

  it('is the one with the requested name', () => {
    expect(clusterAt({ cluster: 'two', node: null }, ports).name).toBe('two');
  });

  it.each([
    [{ cluster: 'three', node: null }, 'no cluster is named three'],
    [null, 'no cluster is named (none)'],
  ])('is an error if no cluster has the name (%o)', (location, says) => {
    expect(() => clusterAt(location, ports)).toThrow(InvalidConfiguration);
    expect(() => clusterAt(location, ports)).toThrow(says);
  });
});
