import { describe, expect, it } from 'vitest';
import { fenceInBoot } from '../../fencing/model/cluster-facts.ts';
import { decide } from '../../fencing/rules/decide.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, node, record, view } from './view-builder.ts';

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
  it.each([
    ['continues if the cloud names the boot only now', ago(20_000), 'delete-pod'],
    ['begins again if the kubelet has renewed its Lease since', ago(19_000), 'mark'],
  ])('that drifted when it began %s', (_, lease, expected) => {
    const drifted = marked({ generation: 'operation-1', generationDrifts: true });
    expect(said(fencing({ node: drifted, lease }))).toBe(expected);
  });
  it('is known to be removed by hand, although a generation that drifts has changed since', () => {
    const drifted = machine({ generation: 'operation-2', generationDrifts: true });
    expect(said(view({ machine: drifted, remembered: record() }))).toBe('set-tombstone');
  });

  it.each(['boot-1', 'operation-1'])('leaves a tombstone that counts, whatever the cloud names next (%s)', (next) => {
    const drifts = machine({ generation: 'operation-1', generationDrifts: true });
    const decision = decide(view({ machine: drifts, remembered: record({ generation: 'operation-1' }) }));
    const step = decision.do === 'step' ? decision.step : null;
    const tombstone = step?.do === 'set-tombstone' ? step.tombstone : null;
    const known = machine({ generation: next });
    expect(said(view({ machine: known, cluster: cluster({ node: node({ tombstone }) }) }))).toBe(
      'refused fence-removed-by-hand',
    );
  });

  it('stays removed if the cloud names the boot after a person released or removed it', () => {
    const drifts = machine({ generation: 'operation-1', generationDrifts: true });
    const decision = decide(view({ machine: drifts }));
    const written = decision.do === 'step' && decision.step.do === 'mark' ? decision.step.record : record();
    const releasing = marked({ ...written, phase: 'releasing' });
    expect(said(view({ cluster: cluster({ node: releasing }), remembered: written }))).toBe('set-tombstone');
    const taintedFor = fenceInBoot(written.fence, written, written);
    expect(said(view({ cluster: cluster({ node: node({ taintedFor }) }) }))).toBe('set-tombstone');
  });
});
