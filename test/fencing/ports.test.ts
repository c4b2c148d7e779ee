import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { abortOnSignal, clusterAt } from '../../fencing/loop/ports.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { clusterThat, portsThat } from './ports.ts';

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
