import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/decide.ts';
import { defaultPolicy } from '../../fencing/policy.ts';
import type { View } from '../../fencing/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, node, NOW, view, volume } from './view-builder.ts';

const seenOff = (mono: number, witness: View['memory']['witness'] = null) => ({
  memory: { ...view().memory, firstOff: { wall: NOW - 1_000, mono, generation: 'boot-1' }, witness },
});

describe('only proof lets a fence begin', () => {
  const cases: readonly [string, View, string][] = [
    ['off is proof', view(), 'mark'],
    ['stopping is not: the guest may still write', view({ machine: machine({ power: 'stopping' }) }), 'wait stopping'],
    ['running is not', view({ machine: machine({ power: 'running' }) }), 'ignored machine-running'],
    ['starting is not', view({ machine: machine({ power: 'starting' }) }), 'ignored machine-starting'],
    ['suspended is not: memory resumes and writes', view({ machine: machine({ power: 'suspended' }) }), 'refused suspended'],
    ['no power state is not', view({ machine: machine({ power: 'unknown' }) }), 'refused power-unknown'],
    ['off without a boot generation is not', view({ machine: machine({ generation: null }) }), 'refused generation-unknown'],
    ['a state that is proof only when repeated is not, at first', view({ machine: machine({ power: 'off-if-repeated' }), ...seenOff(900) }), 'wait second-read'],
    ['... and is, five seconds later', view({ machine: machine({ power: 'off-if-repeated' }), ...seenOff(-4_000) }), 'mark'],
    ['not found asks the disks first', view({ machine: machine({ power: 'missing', generation: null }) }), 'witness missing-without-witness'],
    ['not found with a disk that is free of it is proof', view({ machine: machine({ power: 'missing', generation: null }), ...seenOff(900, 'released') }), 'mark'],
    ['not found with a disk that names it is not, and the disk is asked again', view({ machine: machine({ power: 'missing', generation: null }), ...seenOff(900, 'held') }), 'wait missing-but-disk-held'],
    ['... and is not a minute later either', view({ machine: machine({ power: 'missing', generation: null }), ...seenOff(-59_000, 'held') }), 'refused missing-but-disk-held'],
    ['not found without a disk that can be found is not', view({ machine: machine({ power: 'missing', generation: null }), ...seenOff(900, 'none') }), 'refused missing-without-witness'],
    [
      'not found without any disk of a PersistentVolume is not',
      view({ machine: machine({ power: 'missing', generation: null }), cluster: cluster({ volumes: [volume({ persistentVolume: null })] }) }),
      'refused missing-without-witness',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a person may vouch for a machine that no cloud can prove off', () => {
  const vouching = (power: Parameters<typeof machine>[0], change: Partial<View> = {}) =>
    view({ machine: machine(power), request: { ...view().request, vouched: 'pulled the plug' }, policy: { ...defaultPolicy, vouching: 'accepted' }, ...change });
  const cases: readonly [string, View, string][] = [
    ['when it is suspended', vouching({ power: 'suspended' }), 'mark'],
    ['when the cloud gives no state', vouching({ power: 'unknown', generation: null }), 'mark'],
    ['when the cloud does not know it', vouching({ power: 'missing', generation: null }), 'mark'],
    ['also in a later run that goes on with the fence', vouching({ power: 'suspended' }, { request: view().request, cluster: cluster({ node: marked({ vouched: 'pulled the plug' }) }) }), 'delete-pod'],
    ['but not when it runs', vouching({ power: 'running' }), 'ignored machine-running'],
    ['nor while it is stopping', vouching({ power: 'stopping' }), 'wait stopping'],
    ['nor when the configuration lets nobody', vouching({ power: 'suspended' }, { policy: defaultPolicy }), 'refused vouching-refused'],
    ['nor against a Lease that is renewed', vouching({ power: 'suspended' }, { memory: { ...view().memory, lease: ago(90_000) } }), 'refused lease-renewed-after-off'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
  it('and the record says so', () => {
    const decision = decide(vouching({ power: 'suspended' }));
    expect(decision.do === 'step' && decision.step.do === 'mark' && decision.step.record.vouched).toBe('pulled the plug');
  });
});

describe('only the very machine is acted on', () => {
  const named = (...values: string[]) => node({ carriers: values.map((value) => ({ carrier: 'providerID' as const, driver: null, value })) });
  const cases: readonly [string, View, string][] = [
    ['one carrier that names it is enough', view({ cluster: cluster({ node: named('m-1', 'something of another driver') }) }), 'mark'],
    ['a carrier that names another machine refuses', view({ cluster: cluster({ node: named('m-1', 'm-2') }) }), 'refused identity-contradicted'],
    ['no carrier at all refuses', view({ cluster: cluster({ node: named() }) }), 'refused identity-unproven'],
    ['a record of another machine refuses', view({ cluster: cluster({ node: marked({ machine: 'm-2' }) }) }), 'refused record-of-another-machine'],
    ['a record that cannot be read refuses', view({ cluster: cluster({ node: node({ recordText: '{' }) }) }), 'refused record-unreadable'],
    ['no Node and nothing left of one is not ours', view({ cluster: cluster({ node: null, pods: [], volumes: [] }) }), 'ignored no-node'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('where names are handed on from one machine to the next', () => {
  const born = (made: number | null) => machine({ incarnation: { id: 'first-owner', made } });
  const saying = (uuid: string | null, created = NOW) =>
    node({ created, carriers: [{ carrier: 'providerID', driver: null, value: 'm-1' }, ...(uuid === null ? [] : [{ carrier: 'systemUUID' as const, driver: null, value: uuid }])] });
  const at = (facts: ReturnType<typeof machine>, standing: ReturnType<typeof node>) => view({ machine: facts, cluster: cluster({ node: standing }) });
  const cases: readonly [string, View, string][] = [
    ['a carrier of the immutable id proves which one it is', at(born(NOW), saying('first-owner', NOW - 1)), 'mark'],
    ['also one that can be read in another way', at(machine({ incarnation: { id: 'first-owner-swapped', made: null } }), saying('first-owner')), 'mark'],
    ['one that names another owner of the name refuses, however young the Node', at(born(NOW - 1), saying('second-owner')), 'refused identity-contradicted'],
    ['without one, a Node made after the machine is proof', at(born(NOW), saying(null)), 'mark'],
    ['a Node made before the machine is not', at(born(NOW), saying(null, NOW - 1)), 'refused identity-unproven'],
    ['nor is any, if the cloud does not say when the machine was made', at(born(null), saying(null)), 'refused identity-unproven'],
    ['a carrier of the immutable id alone does not name the machine', at(born(NOW - 1), node({ carriers: [{ carrier: 'systemUUID', driver: null, value: 'first-owner' }] })), 'refused identity-unproven'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('the Lease may contradict the cloud', () => {
  const renewed = (seen: string) => view({ cluster: cluster({ node: marked({ lease: ago(700_000), renewed: { lease: ago(690_000), seen } }), lease: ago(690_000) }) });
  const withLease = (lease: string | null, known?: string | null) =>
    view({ cluster: cluster({ lease }), memory: { ...view().memory, lease: known } });
  const late = { firstOff: { wall: NOW - 1_000, mono: 0, generation: 'boot-1' } };
  const cases: readonly [string, View, string][] = [
    ['a Lease that has not changed since the machine was seen off says nothing', withLease(ago(5_000), ago(5_000)), 'mark'],
    ['a Lease renewed since then stops the fence', withLease(ago(1), ago(5_000)), 'refused lease-renewed-after-off'],
    ['a Lease that is gone is no renewal', withLease(null, ago(5_000)), 'mark'],
    ['a Lease dated after the power-off is looked at again', view({ cluster: cluster({ lease: ago(0) }) }), 'wait lease-looks-late'],
    ['... and is a fast clock if it has not changed 20 s later', view({ cluster: cluster({ lease: ago(0) }), memory: { ...view().memory, ...late }, now: { wall: NOW, mono: 20_000 } }), 'mark'],
    ['the record remembers the Lease for a later run, and when it was renewed', view({ cluster: cluster({ node: marked({ lease: ago(20_000) }), lease: ago(1) }) }), 'note'],
    ['... which stops the fence', renewed(ago(60_000)), 'refused lease-renewed-after-off'],
    ['... for ten minutes of silence by our own clock', renewed(ago(599_000)), 'refused lease-renewed-after-off'],
    ['... and then no longer', renewed(ago(600_000)), 'note'],
    ['a kubelet that goes on renewing is timed anew', view({ cluster: cluster({ node: marked({ lease: ago(20_000), renewed: { lease: ago(700_000), seen: ago(650_000) } }), lease: ago(1) }) }), 'note'],
    ['a Lease renewed by the boot before this one is no contradiction', view({ cluster: cluster({ node: marked({ generation: 'boot-0' }), lease: ago(9_000) }) }), 'mark'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
