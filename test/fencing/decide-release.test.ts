import { describe, expect, it } from 'vitest';
import type { ClusterFacts } from '../../fencing/cluster-facts.ts';
import type { View } from '../../fencing/view.ts';
import { said } from './said.ts';
import { ago, attachment, cluster, machine, marked, node, NOW, pod, view, volume } from './view-builder.ts';

const up = machine({ power: 'running', generation: 'boot-2', disks: [] });
const back = (phase: 'fenced' | 'releasing' = 'fenced', nodeChange: Parameters<typeof node>[0] = {}, released: string | null = null) =>
  marked({ phase, released }, { bootID: 'boot-b', ...nodeChange });
const returned = (change: Partial<ClusterFacts> = {}, rest: Partial<View> = {}) =>
  view({ machine: up, cluster: cluster({ node: back(), pods: [], volumes: [], lease: ago(3_000), ...change }), ...rest });

describe('the fence is taken back once a fresh boot is proven', () => {
  const cases: readonly [string, View, string][] = [
    ['all proven: volumes first', returned(), 'readmit-volumes'],
    ['a machine that is still starting is waited for', returned({}, { machine: machine({ power: 'starting' }) }), 'wait return-unproven'],
    ['Ready under the old boot came back from memory', returned({ node: back('fenced', { bootID: 'boot-a' }) }), 'wait return-unproven'],
    ['a Node that is not Ready is waited for', returned({ node: back('fenced', { ready: 'Unknown' }) }), 'wait return-unproven'],
    ['a Lease as old as the proof is no sign of life', returned({ lease: ago(20_000) }), 'wait return-unproven'],
    ['a Lease of minutes ago is none', returned({ lease: ago(300_000) }, { memory: { ...view().memory, firstLease: ago(300_000) } }), 'wait return-unproven'],
    ['... unless it was renewed under our eyes by a slow clock', returned({ lease: ago(300_000) }, { memory: { ...view().memory, firstLease: ago(310_000) } }), 'readmit-volumes'],
    ['no Lease is none', returned({ lease: null }), 'wait return-unproven'],
    ['a pod of the fence that still goes is waited for', returned({ pods: [pod({ deleting: true, volumes: [] })] }), 'wait return-unproven'],
    ['a pod of the fence that lives on is welcome', returned({ pods: [pod({ volumes: [] })] }), 'readmit-volumes'],
    ['a pod of the fence that only a finalizer holds keeps nobody', returned({ pods: [pod({ deleting: true, finished: true, finalizers: true, volumes: [] })] }), 'readmit-volumes'],
    ['a later pod that goes is none of ours', returned({ pods: [pod({ uid: 'later', deleting: true, volumes: [] })] }), 'readmit-volumes'],
    ['an attachment of the fence that nobody wants is waited for', returned({ volumes: [volume()] }), 'wait return-unproven'],
    ['an attachment of before the fence that no known pod uses is waited for, whoever may', returned({ volumes: [volume()], pods: [pod({ uid: 'new', volumes: [], unresolved: ['default/data'] })] }), 'wait return-unproven'],
    ['an attachment that a living pod wants is welcome', returned({ volumes: [volume()], pods: [pod({ uid: 'new' })] }), 'readmit-volumes'],
    ['an attachment that came after the fence is none of ours', returned({ volumes: [volume({ attachmentName: 'csi-later', attachment: attachment({ name: 'csi-later' }) })] }), 'readmit-volumes'],
    ['the quarantine stands while controllers settle', returned({ node: back('releasing', {}, ago(10_000)) }), 'wait controllers-settling'],
    ['... and goes 30 s later', returned({ node: back('releasing', {}, ago(30_000)) }), 'readmit-pods'],
    ['a fence that was never finished is taken back too', returned({ node: marked({ phase: 'fencing' }, { bootID: 'boot-b' }) }), 'readmit-volumes'],
    ['a fence whose record is lost is not left standing in silence', returned({ node: node({ labelled: true, taints: { outOfService: true, quarantine: true } }) }), 'refused record-lost'],
    ['a paused cluster keeps even its fences', returned({ surroundings: { paused: 'audit' } }), 'refused paused'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('release by hand', () => {
  const release = (given: View, accepted: string | null = null): View => ({ ...given, request: { ...given.request, intent: 'release', accepted } });
  const cases: readonly [string, View, string][] = [
    ['follows the same proof', release(returned()), 'readmit-volumes'],
    ['never fences', release(view()), 'released released'],
    ['is refused while the machine is off', release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }) }) })), 'refused still-off'],
    ['is granted to a person who vouches for the machine', release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }) }) }), 'checked the console'), 'readmit-volumes'],
    ['in two halves even then', release(returned({ node: back('releasing', {}, new Date(NOW).toISOString()) }), 'checked'), 'wait controllers-settling'],
    ['is granted though the record cannot be read', release(returned({ node: node({ labelled: true, recordText: '{', taints: { outOfService: true, quarantine: true } }) }), 'checked'), 'readmit-volumes'],
    ['asks for a person\'s word when the record is lost', release(returned({ node: node({ labelled: true, taints: { outOfService: true, quarantine: true } }) })), 'refused record-lost'],
    ['of a Node without a fence has nothing to do', release(returned({ node: node() })), 'released released'],
    ['... whoever vouches for its machine', release(returned({ node: node() }), 'checked'), 'released released'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
