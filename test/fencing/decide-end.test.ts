import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import type { View } from '../../fencing/rules/view.ts';
import { ago, cluster, machine, marked, pod, view } from './view-builder.ts';

const fencing = (change: Partial<ReturnType<typeof cluster>> = {}, rest: Partial<View> = {}) =>
  view({ cluster: cluster({ node: marked(), ...change }), ...rest });

describe('the end of a fence', () => {
  const ended = (given: View) => {
    const decision = decide(given);
    return decision.do === 'end' ? decision.because.says : decision.do;
  };
  const over = { machine: machine({ disks: [] }) };

  it('says that nothing is held if the machine holds nothing', () => {
    expect(
      ended(fencing({ node: marked({ phase: 'fenced', released: ago(1_000) }), pods: [], volumes: [] }, over)),
    ).toMatch(/is off and Node node-a holds no volume any more$/);
  });

  it('names each volume that is kept, and the pod that keeps it', () => {
    const kept = fencing(
      { node: marked({ phase: 'fenced', released: ago(1_000) }), pods: [pod({ tolerates: true })] },
      over,
    );
    expect(ended(kept)).toMatch(
      /is off; Node node-a keeps only a-driver\^disk-1 for pod \S+\/db-0, which Cloudfence leaves alone$/,
    );
    expect(ended({ ...kept, cluster: { ...kept.cluster, node: null } })).not.toMatch(/holds nothing any more/);
  });
});
