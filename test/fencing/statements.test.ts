import { describe, expect, it } from 'vitest';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import { withClusterRead, withMachineRead } from '../../fencing/loop/reads.ts';
import { reduce } from '../../fencing/loop/reduce.ts';
import { type RunState, startRun, viewOf } from '../../fencing/loop/state.ts';
import type { NodeFacts } from '../../fencing/model/cluster-facts.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { ago, cluster, machine, marked, node, NOW, PARKED, view } from './view-builder.ts';
import { said } from './said.ts';

/** A person's statement is about the fence and the boot that stood when their command began. */

const at = (mono: number) => ({ wall: NOW + mono, mono });
const { identityRules } = view();

/** When the command began. */
const STATED = 1_000;

const begun = (
  request: { readonly accepted: string } | { readonly vouched: string },
  statedAt: number | null = STATED,
): RunState =>
  startRun({
    request: {
      machine: 'm-1',
      intent: 'accepted' in request ? 'release' : 'fence',
      accepted: null,
      vouched: null,
      ...request,
    },
    policy: { ...defaultPolicy, vouching: 'accepted' },
    identityRules,
    runId: 'run',
    deadline: 600_000,
    location: { cluster: 'a', node: 'node-a' },
    statedAt,
  });

/** The run after both reads, whose answers arrived so long after the statement (ms). */
const after = (
  state: RunState,
  facts: Partial<MachineFacts>,
  shown: NodeFacts | null,
  [machineAt, nodeAt]: readonly [number, number],
): RunState => {
  const known = withMachineRead(
    state,
    { value: machine(facts), requestedAt: at(STATED), receivedAt: STATED + machineAt },
    at(STATED + machineAt),
  );
  const seen = { value: cluster({ node: shown, lease: null }), requestedAt: at(STATED), receivedAt: STATED + nodeAt };
  return withClusterRead(known, seen, at(STATED + nodeAt));
};

const decided = (...[state, facts, shown, [machineAt, nodeAt]]: Parameters<typeof after>): string => {
  const seen = viewOf(after(state, facts, shown, [machineAt, nodeAt]), at(STATED + Math.max(machineAt, nodeAt)));
  return seen ? said(seen) : 'no view';
};

describe('a statement that a machine is off', () => {
  const vouching = begun({ vouched: 'pulled the plug' });
  const cases: readonly [string, Partial<MachineFacts>, NodeFacts | null][] = [
    ['with its Node', { power: 'suspended' }, node()],
    ['whose Node is gone', { power: 'suspended' }, null],
    ['whose Node is gone, and whose generation drifts', { power: 'suspended', generationDrifts: true }, null],
    ['whose Node is gone, and whose boot the cloud does not name', { power: 'unknown', generation: null }, null],
    [
      'of which neither the Node nor the cloud names a boot',
      { power: 'unknown', generation: null },
      node({ bootID: '' }),
    ],
  ];

  it.each(cases)('is refused if the cloud first answers more than 20 s later: %s', (_, facts, shown) => {
    expect(decided(vouching, facts, shown, [20_001, 100])).toBe('refused another-boot');
    expect(decided(vouching, facts, shown, [19_999, 20_000])).not.toContain('another-boot');
  });

  it.each(cases)('is refused if the cluster first answers more than 20 s later: %s', (_, facts, shown) => {
    expect(decided(vouching, facts, shown, [100, 20_001])).toBe('refused another-boot');
  });

  it('does not count if nothing shows when it was made', () => {
    expect(decided(begun({ vouched: 'x' }, null), { power: 'suspended' }, node(), [100, 100])).toBe(
      'refused another-boot',
    );
  });

  it('stays old, although later answers come at once', () => {
    const old = after(vouching, { power: 'suspended' }, node(), [20_001, 100]);
    expect(decided(old, { power: 'suspended' }, node(), [20_100, 20_100])).toBe('refused another-boot');
  });
});

describe('a statement that a fence may end', () => {
  const accepting = begun({ accepted: 'checked' });
  const nameless = marked({}, { label: null, record: null, taintedFor: null });

  it.each([
    ['with a name', marked()],
    ['without a name', nameless],
  ])('is refused if the Node is first seen more than 20 s later, for a fence %s', (_, shown) => {
    expect(decided(accepting, {}, shown, [100, 20_001])).toBe('refused another-fence');
    expect(decided(accepting, {}, shown, [100, 20_000])).toBe('lift-out-of-service');
  });

  it('counts although the cloud first answers much later', () => {
    expect(decided(accepting, {}, marked(), [90_000, 100])).toBe('lift-out-of-service');
  });

  // The power state and the boot may come from two answers of the cloud, one of which is older.
  it.each([
    ['with a record', marked()],
    ['without one', nameless],
  ])('waits for a second read if the state may also be that of a machine that starts: %s', (_, shown) => {
    const facts = { power: 'off-if-repeated', generation: 'boot-2' } as const;
    expect(decided(accepting, facts, shown, [100, 100])).toBe('wait second-read');
    const again = after(accepting, facts, shown, [100, 100]);
    const later = { requestedAt: at(STATED + 10_100), receivedAt: STATED + 10_200 };
    const confirmed = withMachineRead(again, { value: machine(facts), ...later }, at(later.receivedAt));
    const seen = { value: cluster({ node: shown, lease: null }), ...later };
    const decision = viewOf(withClusterRead(confirmed, seen, at(later.receivedAt)), at(later.receivedAt));
    expect(decision && said(decision)).toBe('lift-out-of-service');
  });

  it('does not wait for ever if the cloud and the cluster are slow', () => {
    let [state, time]: [RunState, number] = [accepting, STATED];
    const asked: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const command = nextCommand(state, at(time));
      asked.push(
        command.do === 'look' ? `${command.machine ? 'machine ' : ''}${command.cluster ? 'node' : ''}` : command.do,
      );
      if (command.do !== 'look') break;
      const [sent, machineTakes, nodeTakes] = [at(time), 6_000, 2_000];
      const answer = {
        machine: command.machine ? { value: machine(), requestedAt: sent, receivedAt: time + machineTakes } : null,
        cluster: command.cluster
          ? { value: cluster({ node: marked() }), requestedAt: sent, receivedAt: time + nodeTakes }
          : null,
      };
      time += command.machine ? machineTakes : nodeTakes;
      state = reduce(state, command, { to: 'look', ...answer }, at(time));
    }
    expect(asked).toEqual(['node', 'machine node', 'act']);
  });
});

describe('the record of a release that a person requested', () => {
  const parked = (bootID: string) => marked({ phase: 'fenced', released: ago(60_000) }, { bootID, taints: PARKED });
  const seen = (bootID: string, from: number, to: number) => ({
    value: cluster({ node: parked(bootID), pods: [], volumes: [] }),
    requestedAt: at(from),
    receivedAt: to,
  });
  const generationAt = (generation: string, from: number, to: number) => ({
    value: machine({ generation }),
    requestedAt: at(from),
    receivedAt: to,
  });
  /** The Node shows boot-a when the command begins. Then the answer of the cloud takes five minutes. */
  const answered = (
    machineRead: ReturnType<typeof generationAt>,
    clusterRead: ReturnType<typeof seen>,
    now: number,
  ): RunState => {
    const state = begun({ accepted: 'checked' });
    const first = { to: 'look', machine: null, cluster: seen('boot-a', STATED, 1_100) } as const;
    const known = reduce(state, nextCommand(state, at(STATED)), first, at(1_100));
    const both = { to: 'look', machine: machineRead, cluster: clusterRead } as const;
    return reduce(known, nextCommand(known, at(1_100)), both, at(now));
  };

  it('names no boot if the Node has shown another one since the command began', () => {
    const state = answered(generationAt('boot-2', 300_000, 300_100), seen('boot-b', 300_000, 300_100), 300_100);
    expect(nextCommand(state, at(300_100))).toMatchObject({
      do: 'act',
      step: { record: { bootID: '', phase: 'releasing', generation: 'boot-1' } },
    });
  });

  it('names no boot either if the answer of the cloud is older than the new boot', () => {
    const state = answered(generationAt('boot-1', 1_100, 300_000), seen('boot-a', 1_100, 300_000), 300_000);
    const again = nextCommand(state, at(300_000));
    expect(again).toMatchObject({ do: 'look', machine: false, cluster: true });
    const later = { to: 'look', machine: null, cluster: seen('boot-b', 300_000, 300_100) } as const;
    expect(nextCommand(reduce(state, again, later, at(300_100)), at(300_100))).toMatchObject({
      do: 'act',
      step: { record: { bootID: '', phase: 'releasing' } },
    });
  });
});
