import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, PARKED, view } from './view-builder.ts';

const fencing = (change: Partial<ReturnType<typeof cluster>> = {}, rest: Partial<View> = {}) =>
  view({ cluster: cluster({ node: marked(), ...change }), ...rest });

describe('the Node of a fence', () => {
  const free = { pods: [], volumes: [] };
  const gone = { machine: machine({ forGood: true, disks: [] }) };
  const parked = (nodeChange: Parameters<typeof marked>[1] = {}) =>
    fencing({ ...free, node: marked({ phase: 'fenced', released: ago(1_000) }, nodeChange) }, gone);
  const cases: readonly [string, View, string][] = [
    ['is parked if the machine is stopped', fencing(free, { machine: machine({ disks: [] }) }), 'park'],
    [
      'is left alone once it is parked',
      fencing(
        { ...free, node: marked({ phase: 'fenced', released: ago(1_000) }) },
        { machine: machine({ disks: [] }) },
      ),
      'fenced fenced',
    ],
    ['is deleted if the machine is terminated', fencing(free, gone), 'delete-node'],
    [
      'is deleted if the policy is `always`',
      fencing(free, { machine: machine({ disks: [] }), policy: { ...defaultPolicy, deleteNode: 'always' } }),
      'delete-node',
    ],
    [
      'is kept if the policy is `never`',
      fencing(free, { ...gone, policy: { ...defaultPolicy, deleteNode: 'never' } }),
      'park',
    ],
    [
      'is parked first in shadow mode, which only imagines the deletion',
      fencing(free, { ...gone, policy: { ...defaultPolicy, shadow: true } }),
      'park',
    ],
    [
      'would be deleted in shadow mode after an imagined mark',
      fencing(free, {
        ...gone,
        policy: { ...defaultPolicy, shadow: true },
        memory: { ...view().memory, sinceLook: new Set(['mark node-uid']) },
      }),
      'delete-node',
    ],
    [
      'would be deleted in shadow mode after our taint is gone',
      fencing(
        { ...free, node: marked({ phase: 'fenced', released: ago(1_000) }, { taints: PARKED }) },
        { ...gone, policy: { ...defaultPolicy, shadow: true } },
      ),
      'delete-node',
    ],
    ['is kept if it has a finalizer', parked({ finalizers: ['someone/else'] }), 'fenced fenced'],
    ['is kept if a NodeClaim owns it', parked({ owners: ['NodeClaim'] }), 'fenced fenced'],
    ['is left to the person or controller that is deleting it', parked({ deleting: true }), 'fenced fenced'],
    [
      'is deleted last, and not while the machine holds a disk',
      fencing({ pods: [] }, { machine: machine({ forGood: true }) }),
      'wait attachments-going',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
