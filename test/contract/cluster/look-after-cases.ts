import { expect, it } from 'vitest';
import type { LookRequest } from '../../../fencing/model/cluster.ts';
import { podsWanting } from '../../../fencing/rules/pods.ts';
import { attachmentName } from '../../../kubernetes/attachments.ts';
import type { ClusterHarness } from './harness.ts';
import {
  ATTACHMENTS,
  CSI_NODES,
  DRIVER,
  LEASES,
  queryFor,
  fresh,
  made,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  recordFor,
  unhurried,
  usingClaim,
} from './harness.ts';

const nameOn = (handle: string, node: string) => attachmentName({ driver: DRIVER, handle }, node);
const key = (handle: string) => `${DRIVER}^${handle}`;

export const lookAfterCases = (harness: () => ClusterHarness): void => {
  const look = (machine: string, node: string | null, request: Partial<LookRequest> = {}) =>
    harness().cluster.look(
      { query: queryFor(machine), node, remembered: null, successorsOf: [], ...request },
      unhurried(),
    );
  const renewed = (name: string, ago: number) =>
    made(harness(), LEASES, {
      metadata: { name },
      spec: { renewTime: new Date(harness().now() - ago).toISOString().replace('Z', '000Z') },
    });
  const attached = async (machine: string, node: string, handle = fresh('vol')) => {
    const volume = await makeVolume(harness(), handle);
    await makeAttachment(harness(), nameOn(handle, node), node, volume, machine);
    return volume;
  };

  it('finds what a Node that is gone has left behind', async () => {
    const machine = fresh('i');
    const node = fresh('node');
    const [attached, remembered] = [fresh('vol'), fresh('vol')];
    const volume = await makeVolume(harness(), attached);
    const orphan = await makePod(harness(), node, usingClaim(volume));
    const { uid } = await makeAttachment(harness(), nameOn(attached, node), node, volume, machine);
    const record = recordFor({ name: node, uid: 'u', resourceVersion: '1' }, machine, {
      volumes: [{ driver: DRIVER, handle: remembered, persistentVolume: null, attachment: '' }],
    });
    const facts = await look(machine, null, { remembered: record });
    expect(facts).toMatchObject({
      node: null,
      nodeName: node,
      nameTaken: false,
      pods: [{ uid: orphan.uid, volumes: [key(attached)] }],
      attachmentsOfOthers: [],
    });
    expect(facts.volumes.map(({ handle, attachment, pvc }) => [handle, attachment?.uid ?? null, pvc])).toEqual([
      [remembered, null, null],
      [attached, uid, `default/${volume}`],
    ]);
  });

  it('returns neither a name nor anything else of a machine that has left nothing', async () => {
    const nothing = {
      node: null,
      nameTaken: false,
      pods: [],
      volumes: [],
      attachmentsOfOthers: [],
      lease: null,
    };
    const node = fresh('node');
    expect(await look(fresh('i'), null)).toMatchObject({ ...nothing, nodeName: null });
    expect(await look(fresh('i'), node, { nodeOnly: true })).toMatchObject({ ...nothing, nodeName: node });
  });

  it('returns a volume that an earlier look found, under its Node name, although its attachment is gone', async () => {
    const [machine, node, handle] = [fresh('i'), fresh('node'), fresh('vol')];
    const attachment = nameOn(handle, node);
    const persistentVolume = await attached(machine, node, handle);
    const [seen] = (await look(machine, null)).volumes;
    expect(seen).toMatchObject({ node, handle, persistentVolume, attachmentName: attachment });
    await harness().admin('DELETE', `${ATTACHMENTS}/${attachment}`);
    const again = await look(machine, null, { attachments: [attachment], volumesLeft: seen ? [seen] : [] });
    expect(again).toMatchObject({ nodeName: node, volumes: [{ node, handle, persistentVolume, attachment: null }] });
    expect(await look(machine, null, { attachments: [attachment] })).toMatchObject({ nodeName: null, volumes: [] });
  });

  it('returns such a volume once, under its own Node name, if the machine had several names', async () => {
    const [machine, one, other] = [fresh('i'), fresh('node'), fresh('node')];
    const names = [await attached(machine, one), await attached(machine, other)];
    const { volumes } = await look(machine, null);
    expect(volumes).toHaveLength(2);
    const again = await look(machine, null, { volumesLeft: volumes });
    expect(again.volumes).toHaveLength(2);
    expect(again.volumes).toContainEqual(expect.objectContaining({ node: one, persistentVolume: names[0] }));
    expect(again.volumes).toContainEqual(expect.objectContaining({ node: other, persistentVolume: names[1] }));
  });

  it('names an object in a record that cannot exist, because of its name', async () => {
    const [machine, name] = [fresh('i'), fresh('node')];
    const volumes = [{ driver: DRIVER, handle: fresh('vol'), persistentVolume: '..', attachment: '' }];
    const remembered = recordFor({ name, uid: 'u', resourceVersion: '1' }, machine, { volumes });
    expect((await look(machine, null, { remembered })).impossibleNames).toEqual(['..']);
  });

  it('reads only the attachments that the run names, and only if they still belong to the machine', async () => {
    const [machine, node] = [fresh('i'), fresh('node')];
    const [named, untold, reused, gone] = [fresh('vol'), fresh('vol'), fresh('vol'), fresh('vol')];
    for (const [handle, owner] of [
      [named, machine],
      [untold, machine],
      [reused, 'i-successor'],
    ] as const) {
      await makeAttachment(harness(), nameOn(handle, node), node, await makeVolume(harness(), handle), owner);
    }
    const facts = await look(machine, null, {
      attachments: [named, reused, gone].map((handle) => nameOn(handle, node)),
    });
    expect(facts).toMatchObject({ nodeName: node, volumes: [{ handle: named, attachment: { attached: false } }] });
  });

  it('finds what uses a volume in a pod spec, and assumes that a broken claim wants it', async () => {
    const [machine, node, handle, missing] = [fresh('i'), fresh('node'), fresh('vol'), fresh('gone')];
    const inlineVolumeSpec = { accessModes: ['ReadWriteOnce'], csi: { driver: DRIVER, volumeHandle: handle } };
    const metadata = { name: nameOn(handle, node), annotations: { 'csi.alpha.kubernetes.io/node-id': machine } };
    const { uid } = await made(harness(), ATTACHMENTS, {
      metadata,
      spec: { attacher: DRIVER, nodeName: node, source: { inlineVolumeSpec } },
    });
    const stays = await makePod(harness(), node, { ...usingClaim(missing), tolerations: [{ operator: 'Exists' }] });
    await makePod(harness(), node, usingClaim(missing));
    const user = await makePod(harness(), node, {
      volumes: [{ name: 'v', awsElasticBlockStore: { volumeID: handle } }],
    });
    const facts = await look(machine, null);
    expect(facts.volumes).toMatchObject([{ handle, attachment: { uid } }]);
    expect(facts.impossibleNames).toBeUndefined();
    expect(facts.pods).toHaveLength(2);
    expect(facts.pods).toContainEqual(
      expect.objectContaining({ uid: stays.uid, unresolved: [`default/${missing}`], volumes: [] }),
    );
    expect(facts.pods).toContainEqual(expect.objectContaining({ uid: user.uid, volumes: [key(handle)] }));
    expect(podsWanting({ cluster: facts }, key(handle))).toHaveLength(2);
  });

  it('does not count a pod with a broken claim if no volume is attached under its name', async () => {
    const [machine, node, handle] = [fresh('i'), fresh('node'), fresh('vol')];
    const named = nameOn(handle, node);
    await makePod(harness(), node, { ...usingClaim(fresh('gone')), tolerations: [{ operator: 'Exists' }] });
    const facts = await look(machine, node, { attachments: [named] });
    expect(facts.pods).toEqual([]);
    await makeAttachment(harness(), named, node, await makeVolume(harness(), handle), machine);
    expect((await look(machine, node, { attachments: [named] })).pods).toHaveLength(1);
  });

  it('does not touch the pods and attachments of a new Node with the old name', async () => {
    const machine = fresh('i');
    const { name } = await makeNode(harness());
    const [left, taken] = [fresh('vol'), fresh('vol')];
    const [leftVolume, takenVolume] = [await makeVolume(harness(), left), await makeVolume(harness(), taken)];
    await makePod(harness(), name, usingClaim(takenVolume));
    await makeAttachment(harness(), nameOn(left, name), name, leftVolume, machine);
    await makeAttachment(harness(), nameOn(taken, name), name, takenVolume, 'i-successor');
    const volumes = [{ driver: DRIVER, handle: taken, persistentVolume: takenVolume, attachment: '' }];
    const facts = await look(machine, null, {
      remembered: recordFor({ name, uid: 'u', resourceVersion: '1' }, machine, { volumes }),
    });
    expect(facts).toMatchObject({ node: null, nameTaken: true, pods: [] });
    expect(facts.volumes.map(({ handle, attachment }) => [handle, attachment === null])).toEqual([
      [taken, true],
      [left, false],
    ]);
  });

  it('counts a pod under the name of a dead Node only if it is recorded or uses what is attached', async () => {
    const [machine, node] = [fresh('i'), fresh('node')];
    const user = await makePod(harness(), node, usingClaim(await attached(machine, node)));
    const unattached = fresh('vol');
    const noted = await makePod(harness(), node, usingClaim(await makeVolume(harness(), unattached)));
    const tolerations = [{ operator: 'Exists' }];
    await makePod(harness(), node, { ...usingClaim(await makeVolume(harness(), fresh('vol'))), tolerations });
    await makePod(harness(), node, usingClaim(await makeVolume(harness(), fresh('vol'))));
    const successor = await makePod(harness(), node);
    const record = recordFor({ name: node, uid: 'u', resourceVersion: '1' }, machine, {
      pods: [
        { namespace: 'default', name: noted.name, uid: noted.uid },
        { namespace: 'default', name: successor.name, uid: 'uid-of-the-pod-before' },
      ],
    });
    const facts = await look(machine, null, { remembered: record });
    expect(facts.nameTaken).toBe(false);
    expect(facts.pods.map(({ uid }) => uid).sort()).toEqual([user.uid, noted.uid].sort());
    expect(facts.volumes).toHaveLength(2);
    expect(facts.volumes).toContainEqual(expect.objectContaining({ handle: unattached, attachment: null }));
    expect((await look(machine, null)).pods).toMatchObject([{ uid: user.uid }]);
  });

  it('counts nothing that the record of another machine names', async () => {
    const [machine, node] = [fresh('i'), fresh('node')];
    const user = await makePod(harness(), node, usingClaim(await attached(machine, node)));
    const { name, uid } = await makePod(harness(), node);
    const record = recordFor({ name: node, uid: 'u', resourceVersion: '1' }, 'i-another', {
      pods: [{ namespace: 'default', name, uid }],
    });
    expect((await look(machine, null, { remembered: record })).pods).toMatchObject([{ uid: user.uid }]);
  });

  it('looks under all former names, and only under the name in the record for what the record names', async () => {
    const [machine, first, handle, later] = [fresh('i'), fresh('node'), fresh('vol'), fresh('vol')];
    const { name: taken } = await makeNode(harness());
    await attached(machine, taken, later);
    const volumes = [{ driver: DRIVER, handle, persistentVolume: null, attachment: nameOn(handle, first) }];
    const remembered = recordFor({ name: first, uid: 'u', resourceVersion: '1' }, machine, { volumes });
    const facts = await look(machine, null, { remembered });
    expect(facts.volumes.map((volume) => [volume.handle, volume.attachmentName])).toEqual([
      [handle, nameOn(handle, first)],
      [later, nameOn(later, taken)],
    ]);
    // The second name is in use again, so only the attachments to the first may be deleted.
    expect(facts).toMatchObject({ node: null, nodeName: first, nameTaken: false });
    expect(facts.volumes.map((volume) => [volume.node, volume.nameTaken])).toEqual([
      [first, false],
      [taken, true],
    ]);
    const ofTaken = await look(machine, taken, { remembered });
    expect(ofTaken).toMatchObject({ node: null, nodeName: first, nameTaken: false });
  });

  it.each([
    ['yes, if the Lease was renewed 39 s ago', (node: string) => renewed(node, 39_000), true],
    ['no, if the Lease is dated ahead', (node: string) => renewed(node, -90_000), true],
    ['no, if the Lease is older', (node: string) => renewed(node, 41_000), false],
    [
      'yes, if another machine’s disk is attached under the name',
      (node: string) => attached('i-successor', node),
      true,
    ],
  ])('decides whether the name of a missing Node belongs to another machine: %s', async (_case, traced, nameTaken) => {
    const [machine, node] = [fresh('i'), fresh('node')];
    const pod = await makePod(harness(), node, usingClaim(await attached(machine, node)));
    await traced(node);
    const facts = await look(machine, null);
    expect(facts).toMatchObject({ node: null, nodeName: node, nameTaken, pods: nameTaken ? [] : [{ uid: pod.uid }] });
    expect(facts.volumes).toMatchObject([{ nameTaken }]);
    if (nameTaken) expect(facts.lease).toBeNull();
    // The next look reads the attachments by name. It still sees those of the other machine.
    const known = [...facts.volumes.flatMap(({ attachment }) => attachment?.name ?? []), ...facts.attachmentsOfOthers];
    expect(await look(machine, null, { attachments: known })).toMatchObject({ nameTaken, volumes: [{ nameTaken }] });
  });

  it('returns the Lease of a former name, whichever of the names has one', async () => {
    const [machine, first, second] = [fresh('i'), fresh('node'), fresh('node')];
    await attached(machine, first);
    await attached(machine, second);
    await renewed(second, 41_000);
    expect(await look(machine, first)).toMatchObject({ nameTaken: false, lease: expect.stringMatching(/^\d{4}-.*Z$/) });
  });

  it('does not assign a Node to another machine if its CSINode names this one', async () => {
    const [machine, name] = [fresh('i'), fresh('node')];
    const { uid } = await makeNode(harness(), { name, spec: { providerID: `k3s://${name}` } });
    await made(harness(), CSI_NODES, { metadata: { name }, spec: { drivers: [{ name: DRIVER, nodeID: machine }] } });
    const pod = await makePod(harness(), name, usingClaim(await attached(machine, name)));
    expect(await look(machine, null)).toMatchObject({
      node: { name, uid },
      nameTaken: false,
      pods: [{ uid: pod.uid }],
      volumes: [{ attachment: { source: { value: machine } } }],
    });
  });

  it('returns attachments that name no machine, if asked by the name of their Node and if it is free', async () => {
    const [machine, node, taken] = [fresh('i'), fresh('node'), fresh('node')];
    const silent = async (name: string, handle = fresh('vol')) => {
      const volume = await makeVolume(harness(), handle);
      await makeAttachment(harness(), nameOn(handle, name), name, volume, name);
      return { handle, user: await makePod(harness(), name, usingClaim(volume)) };
    };
    const [asked] = [await silent(node), await silent(taken), await silent(fresh('node'))];
    await makeNode(harness(), { name: taken });
    const facts = await look(machine, null, { named: [node, taken] });
    expect(facts.volumes.map(({ handle }) => handle)).toEqual([asked.handle]);
    expect(facts.pods.map(({ uid }) => uid)).toEqual([asked.user.uid]);
    expect(await look(machine, null)).toMatchObject({ volumes: [], pods: [] });
  });
};
