import { expect, it } from 'vitest';
import type { LookRequest } from '../../../fencing/model/cluster.ts';
import { attachmentName } from '../../../kubernetes/attachments.ts';
import { FENCED_LABEL, NUDGE_ANNOTATION, RECORD_ANNOTATION } from '../../../kubernetes/names.ts';
import { podsWanting } from '../../../fencing/rules/pods.ts';
import type { ClusterHarness } from './harness.ts';
import {
  ATTACHMENTS,
  CLAIMS,
  DRIVER,
  NODES,
  VOLUMES,
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

export const lookVolumeCases = (harness: () => ClusterHarness): void => {
  const look = (machine: string, node: string | null, request: Partial<LookRequest> = {}) =>
    harness().cluster.look(
      { query: queryFor(machine), node, remembered: null, successorsOf: [], ...request },
      unhurried(),
    );

  it('finds each volume once, wherever it is named', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const [claimed, ephemeral, recorded, inUse] = [fresh('vol'), fresh('vol'), fresh('vol'), fresh('vol')];
    const volume = await makeVolume(harness(), claimed);
    const pod = await makePod(harness(), node.name, {
      volumes: [
        ...usingClaim(volume).volumes,
        {
          name: 'scratch',
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
            },
          },
        },
      ],
    });
    await makeVolume(harness(), ephemeral, `${pod.name}-scratch`);
    const status = {
      volumesInUse: [`kubernetes.io/csi/${key(inUse)}`],
      volumesAttached: [{ name: `kubernetes.io/csi/${key(claimed)}`, devicePath: '' }],
    };
    await harness().admin('PATCH', `${NODES}/${node.name}/status`, { status });
    const named = { driver: DRIVER, handle: recorded, persistentVolume: 'gone', attachment: '' };
    const facts = await look(machine, node.name, { remembered: recordFor(node, machine, { volumes: [named] }) });
    expect(facts.volumes.map((found) => found.key).sort()).toEqual(
      [claimed, ephemeral, recorded, inUse].map(key).sort(),
    );
    expect(facts.pods[0]?.volumes).toEqual([key(claimed), key(ephemeral)]);
    expect(facts.volumes.find(({ handle }) => handle === claimed)).toMatchObject({
      persistentVolume: volume,
      attachmentName: nameOn(claimed, node.name),
      attachment: null,
    });
    expect(facts.volumes.find(({ handle }) => handle === recorded)?.persistentVolume).toBeNull();
    expect(facts.volumes.filter(({ reported }) => reported).map(({ handle }) => handle)).toEqual([claimed]);
  });

  it('finds the attachment of a drained Node, which no status and no pod names, if it searches', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const [going, anothers] = [fresh('vol'), fresh('vol')];
    const volume = await makeVolume(harness(), going);
    const { uid } = await makeAttachment(harness(), nameOn(going, node.name), node.name, volume, machine);
    await makeAttachment(
      harness(),
      nameOn(anothers, node.name),
      node.name,
      await makeVolume(harness(), anothers),
      'i-predecessor',
    );
    const elsewhere = fresh('vol');
    await makeAttachment(harness(), nameOn(elsewhere, 'other'), fresh('other'), await makeVolume(harness(), elsewhere));
    expect((await look(machine, node.name)).volumes).toEqual([]);
    expect((await look(machine, node.name, { search: true })).volumes).toMatchObject([
      { handle: going, persistentVolume: volume, attachment: { uid } },
    ]);
  });

  it('requires that a PersistentVolume has the handle and the driver of the volume', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const [old, current] = [fresh('vol'), fresh('vol')];
    const persistentVolume = await makeVolume(harness(), current);
    const volumes = [
      { driver: DRIVER, handle: old, persistentVolume, attachment: '' },
      { driver: 'another.driver', handle: current, persistentVolume, attachment: '' },
    ];
    const facts = await look(machine, node.name, { remembered: recordFor(node, machine, { volumes }) });
    expect(facts.volumes).toMatchObject([
      { handle: old, persistentVolume: null },
      { driver: 'another.driver', handle: current, persistentVolume: null },
    ]);
  });

  it('reads in-tree EBS volumes as their CSI driver sees them', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const name = fresh('data');
    const size = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
    await made(harness(), VOLUMES, {
      metadata: { name },
      spec: {
        ...size,
        capacity: { storage: '1Gi' },
        awsElasticBlockStore: { volumeID: 'aws://z1/vol-1' },
        claimRef: { namespace: 'default', name },
      },
    });
    await made(harness(), CLAIMS, {
      metadata: { name },
      spec: { ...size, volumeName: name, resources: { requests: { storage: '1Gi' } } },
    });
    await makePod(harness(), node.name, usingClaim(name));
    expect((await look(machine, node.name)).volumes).toMatchObject([{ key: key('vol-1'), persistentVolume: name }]);
  });

  const size = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  const inTree = async (source: object, labels: object = {}) => {
    const name = fresh('data');
    await made(harness(), VOLUMES, {
      metadata: { name, labels },
      spec: { ...size, capacity: { storage: '1Gi' }, ...source, claimRef: { namespace: 'default', name } },
    });
    await made(harness(), CLAIMS, {
      metadata: { name },
      spec: { ...size, volumeName: name, resources: { requests: { storage: '1Gi' } } },
    });
    return name;
  };

  it('reads in-tree disks of Azure and Google as their CSI drivers see them, each with its attachment', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const uri = '/subscriptions/S/resourceGroups/Group/providers/Microsoft.Compute/disks/Data-1';
    const azure = await inTree({ azureDisk: { diskName: 'Data-1', diskURI: uri, kind: 'Managed' } });
    const google = await inTree(
      { gcePersistentDisk: { pdName: 'pd-1' } },
      { 'topology.kubernetes.io/zone': 'us-central1-a' },
    );
    const [onAzure, onGoogle] = [
      { driver: 'disk.csi.azure.com', handle: uri },
      { driver: 'pd.csi.storage.gke.io', handle: 'projects/UNSPECIFIED/zones/us-central1-a/disks/pd-1' },
    ];
    for (const claim of [azure, google]) await makePod(harness(), node.name, usingClaim(claim));
    const { uid } = await makeAttachment(harness(), attachmentName(onGoogle, node.name), node.name, google, machine);
    const facts = await look(machine, node.name);
    const byHandle = new Map(facts.volumes.map((volume) => [volume.handle, volume]));
    expect(byHandle.get(onAzure.handle)).toMatchObject({
      ...onAzure,
      persistentVolume: azure,
      attachmentName: attachmentName(onAzure, node.name),
    });
    expect(byHandle.get(onGoogle.handle)).toMatchObject({
      ...onGoogle,
      persistentVolume: google,
      pvc: `default/${google}`,
      attachment: { uid },
    });
    expect(facts.pods.flatMap(({ volumes }) => volumes).sort()).toEqual([
      `${onAzure.driver}^${onAzure.handle}`,
      `${onGoogle.driver}^${onGoogle.handle}`,
    ]);
  });

  it('sees that a pod wants the in-tree volume in its spec, but not its ephemeral CSI volume', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const handle = fresh('vol');
    const volumes = [
      { name: 'data', awsElasticBlockStore: { volumeID: handle } },
      { name: 'scratch', csi: { driver: DRIVER } },
    ];
    await makePod(harness(), node.name, { volumes, tolerations: [{ operator: 'Exists' }] });
    const inlineVolumeSpec = { ...size, csi: { driver: DRIVER, volumeHandle: handle } };
    const { uid } = await made(harness(), ATTACHMENTS, {
      metadata: { name: nameOn(handle, node.name) },
      spec: { attacher: DRIVER, nodeName: node.name, source: { inlineVolumeSpec } },
    });
    const facts = await look(machine, node.name);
    expect(facts.pods).toMatchObject([{ volumes: [key(handle)], unresolved: [] }]);
    expect(facts.volumes).toMatchObject([{ handle, persistentVolume: null, pvc: null, attachment: { uid } }]);
    expect(podsWanting({ cluster: facts }, key(handle))).toHaveLength(1);
  });

  it('finds the attachment of an in-tree volume in the spec of a pod that is gone, if it searches', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const handle = fresh('vol');
    const { uid } = await made(harness(), ATTACHMENTS, {
      metadata: { name: nameOn(handle, node.name), annotations: { 'csi.alpha.kubernetes.io/node-id': machine } },
      spec: {
        attacher: DRIVER,
        nodeName: node.name,
        source: { inlineVolumeSpec: { ...size, csi: { driver: DRIVER, volumeHandle: handle } } },
      },
    });
    expect((await look(machine, node.name, { search: true })).volumes).toMatchObject([
      { handle, persistentVolume: null, pvc: null, attachment: { uid } },
    ]);
  });

  it('treats a volume as wanted if an unresolvable claim may mean it, and no other claim does', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const [orphaned, known] = [fresh('vol'), fresh('vol')];
    const claimed = await makeVolume(harness(), known);
    const missing = fresh('gone');
    const pod = await makePod(harness(), node.name, { ...usingClaim(missing), tolerations: [{ operator: 'Exists' }] });
    await makePod(harness(), node.name);
    const status = {
      volumesAttached: [orphaned, known].map((handle) => ({
        name: `kubernetes.io/csi/${key(handle)}`,
        devicePath: '',
      })),
    };
    await harness().admin('PATCH', `${NODES}/${node.name}/status`, { status });
    await makeAttachment(harness(), nameOn(known, node.name), node.name, claimed, machine);
    const facts = await look(machine, node.name);
    expect(facts.pods).toHaveLength(2);
    expect(facts.pods).toContainEqual(
      expect.objectContaining({ uid: pod.uid, volumes: [], unresolved: [`default/${missing}`] }),
    );
    expect([orphaned, known].map((handle) => podsWanting({ cluster: facts }, key(handle)).length)).toEqual([1, 0]);
  });

  it('reads the state of an attachment', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const handle = fresh('vol');
    const volume = await makeVolume(harness(), handle);
    await makePod(harness(), node.name, usingClaim(volume));
    const name = nameOn(handle, node.name);
    const { uid } = await makeAttachment(harness(), name, node.name, volume, machine);
    await harness().admin('PATCH', `${ATTACHMENTS}/${name}`, {
      metadata: { finalizers: ['external-attacher/ebs-csi-aws-com'], annotations: { 'cloudfence.dev/nudge': 'x' } },
    });
    await harness().admin('PATCH', `${ATTACHMENTS}/${name}/status`, {
      status: { attached: true, detachError: { message: 'stuck', time: '2026-11-21T10:00:00Z' } },
    });
    await harness().admin('DELETE', `${ATTACHMENTS}/${name}`);
    const [found] = (await look(machine, node.name)).volumes;
    const source = { source: 'volumeAttachment', driver: DRIVER, value: machine };
    expect(found?.attachment).toMatchObject({ name, uid, attached: true, detachError: 'stuck', nudged: true, source });
    expect(found?.attachment?.deletingSince).toBeGreaterThan(0);
    await harness().admin('PATCH', `${ATTACHMENTS}/${name}`, { metadata: { finalizers: null } });
  });

  it('follows a volume to the Node of the pod that uses it now', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const handle = fresh('vol');
    const volume = await makeVolume(harness(), handle);
    await makeAttachment(harness(), nameOn(handle, node.name), node.name, volume, machine);
    await makePod(harness(), node.name, usingClaim(volume));
    const next = fresh('node');
    await makePod(harness(), next, usingClaim(volume));
    const { uid } = await makeAttachment(harness(), nameOn(handle, next), next, volume);
    expect((await look(machine, node.name, { successorsOf: [key(handle)] })).volumes).toMatchObject([
      { successor: { uid } },
    ]);
    expect((await look(machine, node.name)).volumes).toMatchObject([{ successor: null }]);
  });

  it('follows the volumes of an unfinished fence once its old attachments are gone, to find a nudge', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    const handle = fresh('vol');
    const volume = await makeVolume(harness(), handle);
    const old = nameOn(handle, node.name);
    await makeAttachment(harness(), old, node.name, volume, machine);
    const next = fresh('node');
    await makePod(harness(), next, usingClaim(volume));
    const { uid, name } = await makeAttachment(harness(), nameOn(handle, next), next, volume);
    await harness().admin('PATCH', `${ATTACHMENTS}/${name}`, {
      metadata: { annotations: { [NUDGE_ANNOTATION]: 'x' } },
    });
    await harness().admin('PATCH', `${ATTACHMENTS}/${name}/status`, {
      status: { attached: false, attachError: { message: 'held', time: '2026-11-21T10:00:00Z' } },
    });
    const volumes = [{ driver: DRIVER, handle, persistentVolume: volume, attachment: old }];
    const record = recordFor(node, machine, { volumes });
    await harness().admin('PATCH', `${NODES}/${node.name}`, {
      metadata: {
        annotations: { [RECORD_ANNOTATION]: JSON.stringify(record) },
        labels: { [FENCED_LABEL]: record.fence },
      },
    });
    expect((await look(machine, node.name)).volumes).toMatchObject([{ successor: null }]);
    await harness().admin('DELETE', `${ATTACHMENTS}/${old}`);
    expect((await look(machine, node.name)).volumes).toMatchObject([
      { attachment: null, successor: { uid, nudged: true, attachError: 'held' } },
    ]);
  });
};
