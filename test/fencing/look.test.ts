import { describe, expect, it } from 'vitest';
import { runLook, searchClusters } from '../../fencing/loop/look.ts';
import type { Cloud } from '../../fencing/model/cloud.ts';
import type { Cluster, LookRequest, NodeQuery } from '../../fencing/model/cluster.ts';
import { Unavailable } from '../../fencing/model/errors.ts';
import { begun, cloudThat, clusterThat, portsThat } from './ports.ts';
import {
  attachment,
  cluster,
  machine,
  node,
  machineOf,
  marked,
  NOW,
  pod,
  record,
  volume,
  volumeLeft,
} from './view-builder.ts';

/** What a look asks for, in which order, and what it leaves out of the answer. */

const look = { do: 'look', machine: true, cluster: true, disks: true, search: false } as const;
const now = { wall: NOW, mono: 1_000 };
const seen = { value: machine({ nodeNames: ['node-seen'] }), requestedAt: now, receivedAt: now.mono };
const at = begun({ location: { cluster: 'blue', node: 'node-a' } });
const gone = begun({ location: { cluster: 'blue', node: null } });

/** A cluster that answers each look, and remembers the requests. */
const looking = (answer: ReturnType<typeof cluster> = cluster(), name = 'blue') => {
  const requests: LookRequest[] = [];
  const one = clusterThat({
    name,
    look: async (request) => {
      requests.push(request);
      return answer;
    },
  });
  return { requests, cluster: one };
};

const answering: Cloud['look'] = async (ids) => ids.map((id) => machine({ machine: id, nodeNames: ['node-asked'] }));
const knowingHolders = (by: readonly string[] = ['m-1']): Partial<Cloud> => ({
  look: answering,
  holders: async (volumes) => volumes.map(({ handle }) => ({ disk: handle, by })),
});

/** Attachments that a Node left that is gone, and that name no machine. */
const silent = volume({
  attachment: attachment({ source: { source: 'volumeAttachment', driver: 'a-driver', value: 'node-a' } }),
});

describe('a look at the machine', () => {
  const asks = (found: readonly ReturnType<typeof machine>[]) => {
    const asked: unknown[] = [];
    const cloud = cloudThat({
      look: async (...question) => {
        asked.push(question.slice(0, 2));
        return found;
      },
    });
    return { asked, ports: portsThat({ cloud }) };
  };

  it('has the times of its request and its answer', async () => {
    const { asked, ports } = asks([machine()]);
    expect(await runLook({ ...look, cluster: false }, at, ports)).toEqual({
      to: 'look',
      machine: { value: machine(), requestedAt: { wall: NOW + 1_010, mono: 1_010 }, receivedAt: 1_020 },
      cluster: null,
    });
    expect(asked).toEqual([[['m-1'], { disks: true }]]);
  });

  it('leaves the disks out if they are not wanted', async () => {
    const { asked, ports } = asks([machine()]);
    await runLook({ ...look, cluster: false, disks: false }, at, ports);
    expect(asked).toEqual([[['m-1'], { disks: false }]]);
  });

  it('fails if the answer lacks the machine', async () => {
    await expect(runLook({ ...look, cluster: false }, at, asks([]).ports)).rejects.toThrow(
      'the response of the cloud does not contain m-1',
    );
    await expect(runLook({ ...look, cluster: false }, at, asks([]).ports)).rejects.toThrow(Unavailable);
  });
});

describe('a look at the cluster', () => {
  it('asks for the Node with what the run remembers, and for no names if attachments name machines', async () => {
    const blue = looking();
    const known = {
      ...at,
      machine: seen,
      record: record(),
      memory: { ...at.memory, detached: new Set(['a-driver^disk-1']) },
    };
    const ports = portsThat({ clusters: [looking().cluster, blue.cluster].slice(1), cloud: cloudThat() });
    expect(await runLook({ ...look, machine: false }, known, ports)).toEqual({
      to: 'look',
      machine: null,
      cluster: { value: cluster(), requestedAt: { wall: NOW + 1_010, mono: 1_010 }, receivedAt: 1_020 },
    });
    expect(blue.requests).toEqual([
      {
        query: { machine: 'm-1', nodeNames: [], machineOf: known.identityRules.machineOf },
        node: 'node-a',
        remembered: record(),
        successorsOf: ['a-driver^disk-1'],
        search: false,
        named: [],
      },
    ]);
  });

  it('asks only for the attachments that the run knows, unless it searches for others', async () => {
    const blue = looking();
    const volumesLeft = [volumeLeft(volume())];
    const known = { ...at, memory: { ...at.memory, attachments: ['csi-1'], volumesLeft } };
    await runLook({ ...look, machine: false, search: true }, known, portsThat({ clusters: [blue.cluster] }));
    expect(blue.requests).toMatchObject([{ attachments: ['csi-1'], volumesLeft, search: true }]);
    await runLook({ ...look, machine: false }, at, portsThat({ clusters: [blue.cluster] }));
    expect(blue.requests[1]).not.toHaveProperty('attachments');
    expect(blue.requests[1]).not.toHaveProperty('volumesLeft');
  });

  it('omits a volume without an attachment whose disk is free according to the latest machine read', async () => {
    const unattached = volume({ attachment: null });
    const blue = looking(cluster({ node: null, pods: [], volumes: [unattached] }));
    const holding: Cloud['look'] = async () => [
      machine({ disks: [{ disk: 'disk-1', state: 'attached', keep: null }] }),
    ];
    const state = {
      ...gone,
      machine: { ...seen, value: machine({ disks: [] }) },
      memory: { ...gone.memory, volumesLeft: [volumeLeft(unattached)] },
    };
    const ports = portsThat({ cloud: cloudThat({ look: holding }), clusters: [blue.cluster] });
    const kept = [
      await runLook({ ...look, machine: false }, state, ports),
      await runLook({ ...look, machine: true }, state, ports),
    ].map((result) => (result.to === 'look' ? result.cluster?.value.volumes.length : null));
    expect(kept).toEqual([0, 1]);
  });

  it('also asks by the names of the Node if attachments name no machine', async () => {
    const blue = looking();
    const ports = portsThat({ clusters: [blue.cluster], cloud: cloudThat(knowingHolders()) });
    await runLook({ ...look, machine: false }, { ...at, machine: seen }, ports);
    await runLook({ ...look, machine: false }, at, ports);
    expect(blue.requests.map(({ named }) => named)).toEqual([['node-a', 'node-seen'], ['node-a']]);
  });

  it('waits for the names of the machine if its Node is gone and attachments name no machine', async () => {
    const blue = looking(cluster({ node: null }));
    const ports = portsThat({ clusters: [blue.cluster], cloud: cloudThat(knowingHolders()) });
    await runLook(look, { ...gone, machine: seen }, ports);
    await runLook({ ...look, machine: false }, { ...gone, machine: seen }, ports);
    expect(blue.requests.map(({ node, named }) => [node, named])).toEqual([
      [null, ['node-asked']],
      [null, ['node-seen']],
    ]);
  });

  it.each([
    ['its Node exists', at, knowingHolders()],
    ['its attachments name machines', gone, { look: answering }],
  ])('does not wait for the machine if %s', async (_, known, answers) => {
    const blue = looking();
    const late = Promise.withResolvers<ReturnType<typeof machine>[]>();
    const cloud = cloudThat({ ...answers, look: () => late.promise });
    const done = runLook(look, { ...known, machine: seen }, portsThat({ clusters: [blue.cluster], cloud }));
    await expect.poll(() => blue.requests.length).toBe(1);
    late.resolve([machine()]);
    expect((await done).to).toBe('look');
  });
});

describe('what a Node that is gone left, if attachments name no machine', () => {
  const left = cluster({ node: null, volumes: [silent] });
  const found = async (facts: ReturnType<typeof cluster>, answers: Partial<Cloud>) => {
    const result = await runLook(
      { ...look, machine: false },
      gone,
      portsThat({ clusters: [looking(facts).cluster], cloud: cloudThat(answers) }),
    );
    return result.to === 'look' ? result.cluster : null;
  };

  it('belongs to the machine if its disks confirm that', async () => {
    expect(await found(left, knowingHolders())).toMatchObject({ value: { volumes: [silent], pods: [pod()] } });
    expect(await found(left, knowingHolders(['m-2']))).toMatchObject({ value: { volumes: [], pods: [] } });
  });

  it('is not known while the disks do not answer', async () => {
    const holders = () => Promise.reject(new Unavailable('no answer'));
    await expect(found(left, { holders })).rejects.toThrow('no answer');
  });

  it('is not checked on a cloud whose attachments name machines', async () => {
    expect(await found(left, {})).toMatchObject({ value: { volumes: [silent] } });
  });

  it('needs no question to the disks if an attachment names the machine', async () => {
    const asked: unknown[] = [];
    const holders = async (volumes: readonly unknown[]) => (asked.push(volumes), []);
    const named = cluster({ node: null });
    expect(await found(named, { holders })).toMatchObject({ value: named });
    expect(asked).toEqual([]);
  });

  it('has the time before the question to the cluster and the time after the question to the disks', async () => {
    expect(await found(left, knowingHolders())).toMatchObject({ requestedAt: { mono: 1_010 }, receivedAt: 1_020 });
  });
});

describe('a search for the machine', () => {
  const holding = (name: string, nodes: readonly string[], ours: readonly string[] = []): Cluster =>
    clusterThat({
      name,
      find: async () => nodes,
      look: async ({ nodeOnly = false }) =>
        cluster({ node: null, nodeName: nodeOnly ? null : `left in ${name}`, pods: [], volumes: [] }),
      recheck: async (node) => ({
        uid: node,
        recordText: null,
        taints: { outOfService: true, ours: ours.includes(node), quarantine: false },
        lease: null,
      }),
    });
  const search = (clusters: readonly Cluster[], clustersOfTags: readonly string[] = []) =>
    searchClusters(machine({ clusters: clustersOfTags, nodeNames: ['node-a'] }), at, portsThat({ clusters }));

  it('asks all clusters for a Node, by the machine’s names', async () => {
    const queries: NodeQuery[] = [];
    const blue = clusterThat({
      find: async (query) => {
        queries.push(query);
        return ['node-a'];
      },
      look: async () => cluster({ node: null }),
    });
    expect(await search([blue, holding('green', [])])).toEqual([
      { cluster: 'blue', nodes: ['node-a'], marked: [], facts: null, error: null },
      {
        cluster: 'green',
        nodes: [],
        marked: [],
        facts: {
          value: expect.objectContaining({ nodeName: 'left in green' }),
          requestedAt: expect.anything(),
          receivedAt: expect.anything(),
        },
        error: null,
      },
    ]);
    expect(queries).toMatchObject([{ machine: 'm-1', nodeNames: ['node-a'] }]);
    expect(queries[0]?.machineOf({ source: 'providerID', driver: null, value: 'm-1' })).toBe(
      machineOf({ source: 'providerID', driver: null, value: 'm-1' }),
    );
  });

  it.each([
    ['is complete if that Node names the machine', [{ source: 'providerID', driver: null, value: 'm-1' }], true],
    [
      'does not find a Node if only its CSINode names the machine',
      [{ source: 'csiNode', driver: 'd', value: 'm-1' }],
      false,
    ],
    ['does not find a Node if it names no machine', [], false],
    [
      'does not find a Node if another source of it names no machine of this cloud either',
      [
        { source: 'systemUUID', driver: null, value: 'a-uuid' },
        { source: 'csiNode', driver: 'd', value: 'm-1' },
      ],
      false,
    ],
    [
      'does not find a Node if its providerID names another machine',
      [
        { source: 'providerID', driver: null, value: 'm-2' },
        { source: 'nodeIdAnnotation', driver: 'd', value: 'm-1' },
      ],
      false,
    ],
  ] as const)('reads the Node with the likeliest name: %s', async (_, identitySources, isWhole) => {
    const guessed = cluster({ node: node({ identitySources }) });
    const blue = clusterThat({ look: async () => guessed, find: async () => ['found'] });
    expect(await search([blue])).toMatchObject([
      isWhole ? { nodes: ['node-a'], marked: [], facts: { value: guessed } } : { nodes: ['found'], facts: null },
    ]);
  });

  it('uses the first usable name, and follows the volumes that this run has freed', async () => {
    const blue = looking(
      cluster({ node: node({ identitySources: [{ source: 'providerID', driver: null, value: 'm-1' }] }) }),
    );
    const known = { ...at, memory: { ...at.memory, detached: new Set(['a-driver^disk-1']) } };
    await searchClusters(machine({ nodeNames: ['', 'node-a'] }), known, portsThat({ clusters: [blue.cluster] }));
    expect(blue.requests).toMatchObject([{ node: 'node-a', nodeOnly: true, successorsOf: ['a-driver^disk-1'] }]);
  });

  it('asks only the cluster that the machine’s tags name', async () => {
    const found = await search([holding('blue', ['node-a']), holding('green', ['node-b'])], ['green']);
    expect(found.map(({ cluster: name }) => name)).toEqual(['green']);
  });

  it('looks for leftovers without a Node, by the names of the machine alone', async () => {
    const blue = looking(cluster({ node: null, pods: [], volumes: [] }));
    const empty = { ...blue.cluster, find: async () => [] };
    const known = { ...at, record: record() };
    const ports = (answers: Partial<Cloud>) => portsThat({ clusters: [empty], cloud: cloudThat(answers) });
    await searchClusters(machine({ nodeNames: ['node-b'] }), known, ports({}));
    await searchClusters(machine({ nodeNames: ['node-b', ''] }), known, ports(knowingHolders()));
    const guess = { node: 'node-b', nodeOnly: true, remembered: record(), successorsOf: [] };
    expect(blue.requests).toMatchObject([
      guess,
      { node: null, remembered: record(), successorsOf: [], named: [] },
      guess,
      { node: null, remembered: record(), successorsOf: [], named: ['node-b'] },
    ]);
  });

  it('asks which Nodes have our taint only if it found several', async () => {
    const marks = async (...clusters: readonly Cluster[]) => (await search(clusters)).map((one) => one.marked);
    expect(await marks(holding('blue', ['node-a'], ['node-a']))).toEqual([[]]);
    expect(await marks(holding('blue', ['node-a', 'node-b'], ['node-b']))).toEqual([['node-b']]);
    expect(await marks(holding('blue', ['node-a'], ['node-a']), holding('green', ['node-a']))).toEqual([
      ['node-a'],
      [],
    ]);
  });

  it('fails if it cannot say which of several Nodes has our taint', async () => {
    const recheck = () => Promise.reject(new Unavailable('no answer'));
    const blue = { ...holding('blue', ['node-a', 'node-b'], ['node-b']), recheck };
    await expect(search([blue])).rejects.toThrow('no answer');
  });

  it('keeps the error of a cluster that does not answer, beside the answers of the others', async () => {
    const error = new Unavailable('no route');
    const down = clusterThat({ name: 'green', look: () => Promise.reject(error) });
    expect(await search([holding('blue', ['node-a']), down])).toEqual([
      { cluster: 'blue', nodes: ['node-a'], marked: [], facts: null, error: null },
      { cluster: 'green', nodes: [], marked: [], facts: null, error },
    ]);
  });
});

it('a mark on a Node that exists does not mean that it left something behind', async () => {
  const blue = looking(cluster({ node: marked() }));
  const ports = portsThat({
    clusters: [blue.cluster],
    cloud: cloudThat({ holders: () => Promise.reject(new Error()) }),
  });
  expect((await runLook({ ...look, machine: false }, at, ports)).to).toBe('look');
});
