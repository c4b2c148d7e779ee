import { describe, expect, it } from 'vitest';
import type { OtherFence } from '../../fencing/cluster-facts.ts';
import { decide } from '../../fencing/decide.ts';
import { defaultPolicy } from '../../fencing/policy.ts';
import type { View } from '../../fencing/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, node, NOW, pod, view, volume } from './view-builder.ts';

const fence = (change: Partial<OtherFence> = {}): OtherFence => ({ node: 'node-b', fence: 'other.1', phase: 'fencing', begun: NOW - 60_000, ...change });
const among = (nodes: number, ...fences: OtherFence[]) => cluster({ surroundings: { nodes, fences, paused: null } });
const policy = (change: Partial<typeof defaultPolicy>) => ({ ...defaultPolicy, ...change });

describe('guards forbid a fence of a machine that is off', () => {
  const cases: readonly [string, View, string][] = [
    ['a pause of all', view({ policy: policy({ paused: 'upgrade' }) }), 'refused paused'],
    ['a pause of the cluster', view({ cluster: cluster({ surroundings: { nodes: 10, fences: [], paused: 'upgrade' } }) }), 'refused paused'],
    ['a pause in mid-fence', view({ cluster: cluster({ node: marked(), surroundings: { nodes: 10, fences: [], paused: 'upgrade' } }) }), 'refused paused'],
    ['an opted-out Node', view({ cluster: cluster({ node: node({ optOut: 'bare metal' }) }) }), 'refused opted-out'],
    ['one opted-out Pod refuses the whole Node', view({ cluster: cluster({ pods: [pod({ uid: 'a' }), pod({ uid: 'b', optOut: 'licence' })] }) }), 'refused opted-out'],
    ['a finished opted-out Pod does not', view({ cluster: cluster({ pods: [pod(), pod({ uid: 'b', optOut: 'licence', finished: true })] }) }), 'mark'],
    ['an opt-out after the mark comes too late', view({ cluster: cluster({ node: marked({}, { optOut: 'late' }) }) }), 'delete-pod'],
    ['an opted-out Pod of a Node that is gone', view({ cluster: cluster({ node: null, pods: [pod({ optOut: 'licence' })] }) }), 'refused opted-out'],
    ['another fence under way in a small cluster', view({ cluster: among(4, fence()) }), 'refused cap-reached'],
    ['one of at most two in a cluster of ten', view({ cluster: among(10, fence()) }), 'mark'],
    ['two of at most two in a cluster of ten', view({ cluster: among(10, fence(), fence({ node: 'node-c' })) }), 'refused cap-reached'],
    ['a fence that is finished does not count', view({ cluster: among(4, fence({ phase: 'fenced' })) }), 'mark'],
    ['a fence begun long ago does not count', view({ cluster: among(4, fence({ begun: NOW - 16 * 60_000 })) }), 'mark'],
    ['the cap does not stop a fence that has begun', view({ cluster: { ...among(4, fence()), node: marked() } }), 'delete-pod'],
    ['another fence under way, the Node being gone', view({ cluster: { ...among(4, fence()), node: null } }), 'refused cap-reached'],
    ['nothing to free', view({ cluster: cluster({ pods: [pod({ kind: 'mirror' }), pod({ kind: 'daemon', volumes: [] })], volumes: [] }), machine: machine({ disks: [] }) }), 'ignored nothing-to-free'],
    ['an attached volume is something to free', view({ cluster: cluster({ pods: [] }) }), 'mark'],
    ['a pod without a volume is something to move', view({ cluster: cluster({ pods: [pod({ volumes: [] })], volumes: [] }), machine: machine({ disks: [] }) }), 'mark'],
    ['a delay by policy', view({ policy: policy({ fenceAfter: 60_000 }) }), 'wait delayed-by-policy'],
    ['... counted from the kubelet\'s last sign of life where the cloud does not say', view({ policy: policy({ fenceAfter: 60_000 }), machine: machine({ since: null }), cluster: cluster({ lease: ago(61_000) }) }), 'mark'],
    ['... for what is left of a Node that is gone, too', view({ policy: policy({ fenceAfter: 60_000 }), cluster: cluster({ node: null }) }), 'wait delayed-by-policy'],
    ['... that is over', view({ policy: policy({ fenceAfter: 30_000 }) }), 'mark'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('fences that began at the same moment', () => {
  const meeting = (other: OtherFence) => view({ cluster: { ...among(4, other), node: marked({ phase: 'marked', begun: new Date(NOW).toISOString(), fence: 'm' }) } });
  it.each([
    ['the later one takes its mark back', fence({ begun: NOW - 1 }), 'withdraw'],
    ['the earlier one goes on, and says so before it destroys anything', fence({ begun: NOW + 1 }), 'note'],
    ['at the same millisecond the name of the fence decides', fence({ begun: NOW, fence: 'a' }), 'withdraw'],
    ['... so that not both step back', fence({ begun: NOW, fence: 'z' }), 'note'],
  ])('%s', (_, other, expected) => expect(said(meeting(other))).toBe(expected));
  it('whoever steps back names those that go on', () => {
    expect(decide(meeting(fence({ begun: NOW - 1, node: 'node-ahead' }))).because.says).toContain('node-ahead');
  });
});

describe('a machine that runs while its Node is unreachable', () => {
  const unreachable = node({ ready: 'Unknown', readySince: NOW - 10 * 60_000 });
  const census = (names: readonly string[], zone: readonly string[] = ['node-a', 'node-b']) => ({ memory: { ...view().memory, census: { unreachable: names, zone } } });
  const running = (change: Partial<View>, nodeChange = unreachable) =>
    view({ machine: machine({ power: 'running' }), cluster: cluster({ node: nodeChange }), policy: policy({ unreachable: 'power-off' }), ...change });
  const cases: readonly [string, View, string][] = [
    ['is reported, and left alone', running({ policy: defaultPolicy }), 'refused unreachable-but-running'],
    ['under power-off, others are asked about first', running({}), 'census unreachable-but-running'],
    ['under power-off it is switched off when it is the only one', running(census(['node-a'])), 'power-off'],
    ['never before five minutes', running(census(['node-a']), node({ ready: 'Unknown', readySince: NOW - 60_000 })), 'refused power-off-refused'],
    ['never a control-plane node', running(census(['node-a']), { ...unreachable, controlPlane: true }), 'refused power-off-refused'],
    ['never when another node is unreachable too', running(census(['node-a', 'node-c'])), 'refused power-off-refused'],
    ['never when a whole zone is', running(census(['node-a'], ['node-a'])), 'refused power-off-refused'],
    ['never when its Lease is fresh', running(census([])), 'refused power-off-refused'],
    ['never when its Lease was renewed since it was first read', running({ memory: { ...census(['node-a']).memory, firstLease: ago(90_000) } }), 'refused power-off-refused'],
    ['never when it is opted out', running(census(['node-a']), { ...unreachable, optOut: 'no' }), 'refused opted-out'],
    ['once only', running({ memory: { ...census(['node-a']).memory, asked: new Map([['power-off m-1', 0]]) } }), 'wait stopping-too-long'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a machine that stays in stopping', () => {
  const stopping = (minutes: number, unreachable: 'report' | 'power-off') =>
    view({ machine: machine({ power: 'stopping', since: NOW - minutes * 60_000 }), policy: policy({ unreachable }) });
  it.each([
    ['is waited for', stopping(9, 'power-off'), 'wait stopping'],
    ['is an alarm after ten minutes', stopping(11, 'report'), 'wait stopping-too-long'],
    ['is forced then under power-off', stopping(11, 'power-off'), 'power-off'],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

it('a disk that no volume of the Node explains makes the list of attachments be searched, once', () => {
  const drained = view({ cluster: cluster({ pods: [], volumes: [] }) });
  expect(said(drained)).toBe('search disks-going');
  expect(said({ ...drained, memory: { ...drained.memory, searched: true } })).toBe('ignored nothing-to-free');
});

it('a volume that nobody can name as a PersistentVolume is still something attached', () => {
  expect(said(view({ cluster: cluster({ pods: [], volumes: [volume({ persistentVolume: null })] }) }))).toBe('mark');
});
