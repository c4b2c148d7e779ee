import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import type { ClusterFacts } from '../../fencing/model/cluster-facts.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Step } from '../../fencing/model/steps.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, attachedAtMark, cluster, machine, marked, optOut, pod, record, view, volume } from './view-builder.ts';

const stepOf = (given: View): Step | null => {
  const decision = decide(given);
  return decision.do === 'step' ? decision.step : null;
};

describe('the out-of-service taint', () => {
  const parked = (change: Partial<ClusterFacts>, recorded: Parameters<typeof marked>[0] = {}) =>
    view({
      cluster: cluster({
        node: marked({ phase: 'fenced', released: ago(1_000), ...recorded }),
        pods: [],
        volumes: [],
        ...change,
      }),
      machine: machine({ disks: [] }),
    });
  const cases: readonly [string, View, string][] = [
    [
      'goes when everything is free',
      view({ cluster: cluster({ node: marked(), pods: [], volumes: [] }), machine: machine({ disks: [] }) }),
      'park',
    ],
    [
      'goes when everything is free, even if it is still on a parked Node',
      view({
        cluster: cluster({ node: marked({ phase: 'fenced' }), pods: [], volumes: [] }),
        machine: machine({ disks: [] }),
      }),
      'park',
    ],
    ['does not return to a parked Node without cause', parked({}), 'fenced fenced'],
    [
      'returns if a pod was bound to the parked Node by name',
      parked({ pods: [pod({ uid: 'new', volumes: [] })] }),
      'mark',
    ],
    ['returns if an attachment is left that no pod wants', parked({ volumes: [volume()] }), 'mark'],
    [
      'returns for a tolerating pod that someone has begun to delete, because that pod would otherwise never go',
      parked({ pods: [pod({ tolerates: true, deleting: true })], volumes: [volume()] }),
      'mark',
    ],
    [
      'does not return for a tolerating pod that keeps its volume',
      parked({ pods: [pod({ tolerates: true })], volumes: [volume()] }),
      'fenced fenced',
    ],
    [
      'does not return if the pod that was bound to the parked Node is opted out',
      parked({ pods: [pod({ uid: 'new', optOut: optOut('mine'), volumes: [] })] }),
      'refused opted-out',
    ],
    [
      'returns even if someone else had set the first taint, so that the same guards are asked',
      parked({ pods: [pod({ uid: 'new', optOut: optOut('mine'), volumes: [] })] }, { outOfService: 'foreign' }),
      'refused opted-out',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it.each([
    ['ours if there is none', 'ours', { outOfService: false }, 'ours', true],
    ['ours if someone else has removed theirs', 'foreign', { outOfService: false }, 'ours', true],
    ['someone else’s if they have set one since', 'ours', { outOfService: true }, 'foreign', false],
    ['absent if the cluster does not know the taint', 'unsupported', { outOfService: false }, 'unsupported', false],
  ] as const)('that returns is %s', (_, before, { outOfService }, whose, added) => {
    const given = parked({
      node: marked(
        { phase: 'fenced', released: ago(1_000), outOfService: before },
        { taints: { outOfService, ours: false, quarantine: true } },
      ),
      volumes: [volume()],
      taintSupported: before !== 'unsupported',
    });
    expect(stepOf(given)).toMatchObject({ do: 'mark', addOutOfService: added, record: { outOfService: whose } });
  });

  it.each([
    ['running', 'lift-out-of-service'],
    ['starting', 'lift-out-of-service'],
    ['stopping', 'lift-out-of-service'],
    ['suspended', 'delete-pod'],
  ] as const)('does not stay on a person’s word if the cloud says that the machine is %s: %s', (power, expected) => {
    const vouched = { ...view().request, vouched: 'pulled the plug' };
    const policy = { ...defaultPolicy, vouching: 'accepted' } as const;
    const given = { cluster: cluster({ node: marked() }), machine: machine({ power }), request: vouched, policy };
    expect(said(view(given))).toBe(expected);
  });

  it('returns under the same fence, which keeps the volumes and pods that it named', () => {
    const step = stepOf(parked({ pods: [pod({ uid: 'new', name: 'late', volumes: [] })] }));
    expect(step).toMatchObject({
      do: 'mark',
      addOutOfService: true,
      record: { fence: 'run.1', phase: 'fencing', released: null, pods: [{ name: 'late' }, { name: 'db-0' }] },
    });
  });
});

describe('the out-of-service taint of a fence that began when its machine was gone already', () => {
  const [first] = record().volumes;
  const free = volume({ attachment: null });
  const unknown = (change: Partial<ClusterFacts>, memory: Partial<View['memory']> = {}, rest: Partial<View> = {}) =>
    view({
      machine: machine({ power: 'missing', generation: null, disks: [], since: null }),
      cluster: cluster({ node: marked({ generation: null }), lease: null, pods: [], volumes: [free], ...change }),
      memory: { ...view().memory, searched: true, ...memory },
      ...rest,
    });
  const tolerated = { pods: [pod({ tolerates: true, uid: 'other' })], volumes: [volume()] };
  const vouching = {
    request: { ...view().request, vouched: 'pulled the plug' },
    policy: { ...defaultPolicy, vouching: 'accepted' },
  } as const;
  const another = {
    driver: 'b-driver',
    handle: 'rbd-1',
    persistentVolume: 'pv-2',
    attachment: 'csi-2',
    attached: true,
  };

  it.each([
    ['goes if no disk was attached any more at the mark', unknown({})],
    [
      'goes if only a disk of another kind was attached, about which the cloud cannot be asked',
      unknown({ node: marked({ generation: null, volumes: [first ?? another, another] }) }),
    ],
    [
      'goes if the disk that was attached has been deleted, and another one is left that was not attached',
      unknown({
        node: marked({ generation: null, volumes: [...attachedAtMark, { ...another, attached: false }] }),
        volumes: [
          volume({ attachment: null, persistentVolume: null }),
          volume({ handle: 'disk-2', key: 'a-driver^disk-2', attachmentName: 'csi-2', attachment: null }),
        ],
      }),
    ],
  ])('%s', (_, given) => expect(said(given)).toBe('lift-out-of-service'));

  it.each([
    ['until all attachments have been searched', unknown({}, { searched: false }), 'search missing-without-witness'],
    ['while the answer of the disks counts', unknown({}, { witness: 'released' }), 'delete-node'],
    ['while a disk can be asked', unknown(tolerated), 'witness missing-without-witness'],
    ['while a person vouches for the machine', unknown({}, {}, vouching), 'delete-node'],
    [
      'if the cloud does not find a disk, because its PersistentVolume may be deleted next',
      unknown({ node: marked({ generation: null, volumes: attachedAtMark }) }, { witness: 'none' }),
      'refused missing-without-witness',
    ],
  ])('stays %s', (_, given, expected) => expect(said(given)).toBe(expected));
});
