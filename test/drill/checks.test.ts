import { describe, expect, it } from 'vitest';
import { type CheckOptions, type DrillFacts, refusalsOf } from '../../drill/checks.ts';
import type { Hazard, NeighborPod } from '../../drill/ports.ts';
import { cluster, machine, node, pod, volume } from '../fencing/view-builder.ts';
import { checkOptions, drilledMachine, facts, room, drilledNode } from './fake-drill.ts';

/** Each fact that speaks against stopping a machine, alone. */

const says = (change: Partial<DrillFacts>, options: Partial<CheckOptions> = {}): readonly string[] =>
  refusalsOf(facts(change), checkOptions(options)).map((one) => one.says);

const withNode = (change: Parameters<typeof node>[0]) => ({
  cluster: cluster({ node: node(change), pods: [], volumes: [] }),
});
const taints = { outOfService: false, ours: false, quarantine: false };
const hazard = (group: string | null): Hazard => ({ group, says: 'a hazard', remedy: 'none' });
const neighbor: NeighborPod = { name: 'default/db-0', disks: ['claim data'], bare: false };

it('nothing speaks against an ordinary drill', () => expect(says({})).toEqual([]));

describe('a drill refuses', () => {
  it.each<[string, Partial<DrillFacts>, RegExp]>([
    [
      'a machine that two Nodes name',
      { named: ['node-a in blue', 'node-z in green'] },
      /^more than one Node names m-1/,
    ],
    ['a machine that no Node names', { named: [] }, /^no Node names m-1/],
    ['a Node that names no machine', { cluster: cluster({ node: null }) }, /^Node node-a does not name m-1/],
    [
      'a machine of which only the name is known',
      { machine: machine({ power: 'running', disks: [], incarnation: { id: 'id-1', made: null } }) },
      /^it is not proven that m-1 is the machine of Node node-a/,
    ],
    [
      'a machine that stops',
      { machine: machine({ power: 'stopping', disks: [] }) },
      /^the cloud does not say that m-1/,
    ],
    ['a Node that is being deleted', withNode({ deleting: true }), /is being deleted$/],
    ['a Node of the control plane', withNode({ controlPlane: true }), /belongs to the control plane$/],
    ['a Node of Karpenter', withNode({ owners: ['NodeClaim'] }), /belongs to Karpenter/],
    ['a Node with our label', withNode({ label: 'run.1' }), /is fenced$/],
    ['a Node in quarantine', withNode({ taints: { ...taints, quarantine: true } }), /is fenced$/],
    [
      'a Node with the out-of-service taint of someone else',
      withNode({ taints: { ...taints, outOfService: true } }),
      /has an out-of-service taint that is not/,
    ],
    [
      'a Node that no pod can prefer',
      { drilledNode: drilledNode({ hostname: null }) },
      /has no label kubernetes\.io\/hostname$/,
    ],
    [
      'a pod with a disk',
      { drilledNode: drilledNode({ pods: [neighbor] }) },
      /^pod default\/db-0 on Node node-a uses claim data$/,
    ],
    [
      'an attached volume',
      { drilledNode: drilledNode({ attachments: ['pv-1'] }) },
      /^other volumes are attached to Node node-a/,
    ],
    [
      'a volume that only the status of the Node reports',
      { cluster: cluster({ pods: [], volumes: [volume({ attachment: null, reported: true })] }) },
      /^the status of Node node-a reports other volumes: a-driver\^disk-1$/,
    ],
    [
      'a pod with a volume that came later',
      { cluster: cluster({ volumes: [] }) },
      /^pod default\/db-0 on Node node-a uses a-driver\^disk-1$/,
    ],
    [
      'a pod with an unknown claim that came later',
      { cluster: cluster({ pods: [pod({ volumes: [], unresolved: ['default/data'] })], volumes: [] }) },
      /^pod default\/db-0 on Node node-a uses default\/data$/,
    ],
    [
      'a cap whose window is full',
      { drilledNode: drilledNode({ cap: { ...room, begun: 4, isOverridden: false } }) },
      /^the cap is reached/,
    ],
    [
      'a cap with too many unfinished fences',
      { drilledNode: drilledNode({ cap: { ...room, unfinished: 2, isOverridden: false } }) },
      /^the cap is reached/,
    ],
    [
      'what another drill has left',
      { drilledNode: drilledNode({ leftovers: ['pvc/x'] }) },
      /^another drill runs, or has left pvc\/x/,
    ],
  ])('%s', (_, change, words) => {
    expect(says(change)).toContainEqual(expect.stringMatching(words));
  });
});

describe('a drill does not refuse', () => {
  const own = cluster({ volumes: [volume({ reported: true })] });
  it.each<[string, Partial<DrillFacts>, Partial<CheckOptions>]>([
    [
      'a full cap that a person has overridden',
      { drilledNode: drilledNode({ cap: { ...room, begun: 9, isOverridden: true } }) },
      {},
    ],
    ['the volume of its own canary', { cluster: own, ownVolume: 'a-driver^disk-1' }, {}],
    ['a pod that has ended', { cluster: cluster({ pods: [pod({ finished: true })], volumes: [] }) }, {}],
    [
      'the names of its Node, if a tag names its cluster',
      {
        drilledMachine: { ...drilledMachine, nodeNames: [] },
        machine: machine({ power: 'running', disks: [], clusters: ['blue'] }),
      },
      {},
    ],
    [
      'a suspended group',
      { drilledMachine: { ...drilledMachine, hazards: [hazard('workers')] } },
      { suspendedGroup: 'workers' },
    ],
    ['its own reservation', { drilledNode: drilledNode({ reservedBy: 'this' }) }, { reservation: 'this' }],
  ])('%s', (_, change, options) => {
    expect(says(change, options)).toEqual([]);
  });
});

it.each([
  ['a hazard of no group', hazard(null), 'workers'],
  ['a hazard of no group, without a suspended one', hazard(null), null],
  ['a group that is not suspended', hazard('workers'), null],
  ['another group', hazard('workers'), 'others'],
] as const)('a drill refuses %s', (_, one, suspendedGroup) => {
  expect(says({ drilledMachine: { ...drilledMachine, hazards: [one] } }, { suspendedGroup })).toEqual(['a hazard']);
});

it.each([
  [null, 'this', /^the reservation of Node node-a for this drill is gone$/],
  ['night', 'this', /^another drill \(night\) has reserved Node node-a$/],
  ['night', null, /^another drill \(night\) has reserved Node node-a$/],
] as const)('a drill refuses a Node that %s has reserved, if it should be %s', (reservedBy, reservation, words) => {
  expect(says({ drilledNode: drilledNode({ reservedBy }) }, { reservation })).toEqual([expect.stringMatching(words)]);
});

it('a drill refuses a machine whose cluster the cloud does not confirm', () => {
  const elsewhere = machine({ power: 'running', disks: [], clusters: ['green'] });
  expect(says({ drilledMachine: { ...drilledMachine, nodeNames: ['node-b'] }, machine: elsewhere })).toEqual([
    expect.stringMatching(/^the cloud does not confirm that m-1 is Node node-a of cluster blue/),
  ]);
});
