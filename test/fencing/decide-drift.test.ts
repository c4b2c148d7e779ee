import { describe, expect, it } from 'vitest';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, record, view } from './view-builder.ts';

const fencing = (change: Partial<ReturnType<typeof cluster>> = {}, rest: Partial<View> = {}) =>
  view({ cluster: cluster({ node: marked(), ...change }), ...rest });

describe('a fence whose boot is, or seems, not the machine’s any more', () => {
  it.each([
    [
      'continues under the old fence if an operation has changed a drifting generation',
      { generation: 'operation-2', generationDrifts: true },
      ago(20_000),
      'delete-pod',
    ],
    ['begins again if a generation that does not drift has changed', { generation: 'boot-2' }, ago(20_000), 'mark'],
    [
      'begins again if the kubelet has also shown a sign of life',
      { generation: 'operation-2', generationDrifts: true },
      ago(19_000),
      'mark',
    ],
  ])('%s', (_, change, lease, expected) => {
    expect(said(fencing({ lease }, { machine: machine(change) }))).toBe(expected);
  });
  it('sees that a fence was removed by hand, although a drifting generation has changed since', () => {
    const drifted = machine({ generation: 'operation-2', generationDrifts: true });
    expect(said(view({ machine: drifted, remembered: record() }))).toBe('set-tombstone');
  });
});
