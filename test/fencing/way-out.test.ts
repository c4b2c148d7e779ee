import { expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import type { View } from '../../fencing/rules/view.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import type { NodeFacts } from '../../fencing/model/cluster-facts.ts';
import { cluster, machine, node, PARKED, view, volume } from './view-builder.ts';

/** A fence that Cloudfence cannot end by itself. The refusal names the command with which a person ends it. */

const at = (facts: Partial<MachineFacts>, change: Partial<NodeFacts>): View => {
  const seen = view({
    machine: machine({ generation: null, ...facts }),
    cluster: cluster({ node: node(change), pods: [], volumes: [volume({ attachment: null })] }),
  });
  return { ...seen, memory: { ...seen.memory, searched: true } };
};

const says = (given: View): string => {
  const decision = decide(given);
  return decision.do === 'end' ? `${decision.because.code}: ${decision.because.says}` : decision.do;
};

const cases: readonly (readonly [string, string, Partial<MachineFacts>, Partial<NodeFacts>])[] = [
  [
    'the cloud has forgotten the machine, and no disk can confirm that',
    'missing-without-witness',
    { power: 'missing' },
    {},
  ],
  ['nothing names the machine any more', 'identity-unproven', {}, { identitySources: [] }],
];

it.each(cases)('%s', (_, code, facts, change) => {
  const never = says(at(facts, change));
  expect(never).toMatch(new RegExp(`^${code}: `));
  expect(never).not.toContain('cloudfence release');
  const command = '`cloudfence release node-a --accept "<what you checked>"`';
  const fenced = says(at(facts, { ...change, taints: PARKED }));
  expect(fenced).toBe(`${never}. Check the machine, then run ${command} to end the fence`);
  const buried = { label: 'run.1', tombstone: { fence: 'run.1', boot: 'another boot' } };
  expect(says(at(facts, { ...change, ...buried }))).toBe(never);
});

it('the cloud has forgotten the machine, and one of its disks cannot be found', () => {
  const given = at({ power: 'missing' }, { taints: PARKED });
  const asked = {
    ...given,
    cluster: { ...given.cluster, volumes: [volume({ attachment: null })] },
    memory: { ...given.memory, witness: 'none' as const },
  };
  expect(says(asked)).toContain('`cloudfence release node-a --accept "<what you checked>"` to end the fence');
});
