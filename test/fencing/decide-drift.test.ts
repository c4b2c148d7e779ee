import { describe, expect, it } from 'vitest';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, record, view } from './view-builder.ts';

const fencing = (change: Partial<ReturnType<typeof cluster>> = {}, rest: Partial<View> = {}) =>
  view({ cluster: cluster({ node: marked(), ...change }), ...rest });

describe('a fence whose generation is not that of the machine any more', () => {
  it.each([
    [
      'continues if only an operation on the machine has changed a generation that drifts',
      { generation: 'operation-2', generationDrifts: true },
      ago(20_000),
      'delete-pod',
    ],
    ['begins again if a generation that does not drift has changed', { generation: 'boot-2' }, ago(20_000), 'mark'],
    [
      'begins again if a generation that drifts has changed and the kubelet has renewed its Lease',
      { generation: 'operation-2', generationDrifts: true },
      ago(19_000),
      'mark',
    ],
  ])('%s', (_, change, lease, expected) => {
    expect(said(fencing({ lease }, { machine: machine(change) }))).toBe(expected);
  });
  it('is known to be removed by hand, although a generation that drifts has changed since', () => {
    const drifted = machine({ generation: 'operation-2', generationDrifts: true });
    expect(said(view({ machine: drifted, remembered: record() }))).toBe('set-tombstone');
  });
});
