import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attachmentName } from '../../../kubernetes/attachments.ts';
import { turn } from '../../testbed/knobs.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { volumeAttachment } from '../../testbed/objects.ts';
import { openTestbed, type Testbed } from '../../testbed/testbed.ts';
import { until } from '../../testbed/until.ts';
import { actionOf } from '../faults/changes.ts';
import type { Handling } from '../faults/gate.ts';
import { openGates } from '../faults/gates.ts';
import { DRIVER, renewal } from '../kubelet/kubelet-node.ts';
import { openScene, type Scene } from '../scenes/scene.ts';
import { anyVolume, claimOf, volumeName, volumeOf } from '../scenes/volume.ts';
import { lonePod, on } from '../scenes/workload.ts';
import { answered, driversOn, expert, notReady, setDrivers, waitForEvent } from './diagnosed.ts';

/**
 * Causes that need a kubelet, a machine, or a driver that does nothing. The scheduler, the attach-detach controller,
 * and their events are real. The scene writes what a kubelet, an attacher, or an operator would have written.
 */

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const LEASES = '/apis/coordination.k8s.io/v1/namespaces';
/** For how long the diagnosis treats an unmount, or an attachment without an answer, as a normal delay. */
const STUCK_AFTER_MS = 61_000;
const UNANSWERED_AFTER_MS = 35_000;
/** How long a detach in the cloud may take before the diagnosis calls the disk busy. */
const BUSY_AFTER_MS = 122_000;

const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';

/** Its kubelet renews its Lease, but does nothing with its pods any more. */
const hangs = async ({ name, kubelet }: TestbedNode, work: () => Promise<void>): Promise<void> => {
  kubelet.die();
  const path = `${LEASES}/kube-node-lease/leases/${name}`;
  const renewing = setInterval(
    () => void testbed.admin.call('PATCH', path, { spec: renewal() }).catch(() => undefined),
    5_000,
  );
  try {
    await work();
  } finally {
    clearInterval(renewing);
  }
};

const deletePod = ({ namespace }: Scene, name: string, gracePeriodSeconds: number) =>
  testbed.admin.call('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, { gracePeriodSeconds });

/** The pod `holder` runs with the claim `data` on the first of two nodes. */
const held = async (title: string) => {
  const scene = await openScene(testbed, title);
  const [home, other] = [await scene.addNode(), await scene.addNode()];
  const disk = await scene.addClaim('data');
  await scene.create(lonePod('holder', { claims: ['data'], spec: on(home.name) }));
  await scene.runs('holder', home);
  return { scene, home, other, disk };
};

const waits = (scene: Scene, { name }: TestbedNode) =>
  scene.create(lonePod('waiter', { claims: ['data'], spec: on(name) }));

const MULTI_ATTACH = /Multi-Attach error|Waiting for detach/;

/** What EC2 says while a guest still uses the disk. In moto, a detach completes at once. */
const detaching: Handling = async (passing, forward) => {
  const answer = await forward();
  if (passing.to !== 'ec2' || actionOf(passing) !== 'DescribeVolumes') return answer;
  return { ...answer, body: answer.body.replaceAll('<status>attached</status>', '<status>detaching</status>') };
};

/** The pod is gone, but the driver cannot detach its disk, and has reported that. */
const detachFails = async (scene: Scene, { name }: TestbedNode, disk: string, failDetach: string): Promise<void> => {
  const path = `${ATTACHMENTS}/${attachmentName({ driver: DRIVER, handle: disk }, name)}`;
  await turn(testbed.access, disk, { failDetach });
  await deletePod(scene, 'holder', 0);
  await until('the detach has failed', async () =>
    JSON.stringify(await testbed.admin.get(path)).includes('detachError'),
  );
};

/** The kubelet reports this about the container of the pod. */
const containerWaits = ({ namespace }: Scene, pod: string, reason: string): Promise<unknown> =>
  testbed.admin.write('PATCH', `/api/v1/namespaces/${namespace}/pods/${pod}/status`, {
    status: {
      containerStatuses: [
        { name: 'work', image: 'work', imageID: '', ready: false, restartCount: 7, state: { waiting: { reason } } },
      ],
    },
  });

/** Creates a bound claim `data` with a volume of this kind. */
const claimWith = async ({ namespace }: Scene, changed: object): Promise<void> => {
  const { metadata, spec } = volumeOf(namespace, 'data', 'volume-1', anyVolume);
  // Null removes the field of the default volume.
  const own = { ...spec, csi: null, nodeAffinity: null, ...changed };
  await testbed.admin.write('POST', '/api/v1/persistentvolumes', { metadata, spec: own });
  const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  await testbed.admin.write('POST', claims, claimOf(namespace, 'data', anyVolume));
};

/** The attachment of the claim's volume, once attach-detach has created it. */
const attachmentTo = ({ namespace }: Scene, node: TestbedNode, driver: string): Promise<string> => {
  const name = attachmentName({ driver, handle: 'volume-1' }, node.name);
  return until('attach-detach has asked for the attachment', async () => {
    const { spec } = volumeAttachment.parse(await testbed.admin.get(`${ATTACHMENTS}/${name}`));
    return spec.source.persistentVolumeName === volumeName(namespace, 'data') ? name : null;
  });
};

/** The driver is registered on the Node, but its kubelet starts nothing. */
const register = async ({ name }: TestbedNode, driver: string): Promise<void> => {
  const others = await driversOn(testbed, name);
  await setDrivers(testbed, name, [...others, { name: driver, nodeID: name, topologyKeys: [] }]);
};

describe.concurrent('diagnose on a real control plane', () => {
  it('finds a pod whose container does not end', async () => {
    const { scene, home, other } = await held('diagnose-late');
    await hangs(home, async () => {
      await deletePod(scene, 'holder', 1);
      await waits(scene, other);
      await waitForEvent(scene, MULTI_ATTACH);
      expect(await answered(scene, 'waiter')).toEqual(
        expert({
          kind: 'pod-does-not-end',
          waits: /waiter ← disk ← .*holder ← the kubelet of .* No timer ends this/,
          next: new RegExp(`look at the container on ${home.name}[^]*frees nothing`),
        }),
      );
    });
  });

  it('finds a pod that keeps the volume although it crashes', async () => {
    const { scene, home, other } = await held('diagnose-crash');
    await hangs(home, async () => {
      await containerWaits(scene, 'holder', 'CrashLoopBackOff');
      await waits(scene, other);
      await waitForEvent(scene, MULTI_ATTACH);
      expect(await answered(scene, 'waiter')).toEqual(
        expert({
          kind: 'shared-claim',
          waits: /waiter ← disk ← .*holder, which has no reason to end/,
          next: new RegExp(`do not fence ${home.name}: it works`),
        }),
      );
    });
  });

  it('finds a pod that still has time to end', async () => {
    const { scene, home, other } = await held('diagnose-grace');
    await hangs(home, async () => {
      await deletePod(scene, 'holder', 600);
      await waits(scene, other);
      await waitForEvent(scene, MULTI_ATTACH);
      expect(await answered(scene, 'waiter')).toEqual(
        expert({
          kind: 'moving-now',
          code: 3,
          waits: /waiter ← disk ← .*holder ← its grace period, until/,
          next: /look again after .*do not force its deletion/,
        }),
      );
    });
  });

  it('finds a disk that its machine does not release', async () => {
    const { scene, home, other, disk } = await held('diagnose-busy');
    await detachFails(scene, home, disk, 'rpc error: code = DeadlineExceeded desc = context deadline exceeded');
    await waits(scene, other);
    await delay(BUSY_AFTER_MS);
    const gates = await openGates(testbed.access);
    gates.handle(detaching);
    try {
      const access = { ...testbed.access, ec2: gates.access.ec2 };
      expect(await answered({ ...scene, testbed: { ...testbed, access } }, 'waiter')).toEqual(
        expert({
          kind: 'disk-busy',
          waits: new RegExp(`waiter ← disk ← ${home.instance}`),
          next: /unmount it in the guest, or reboot the machine[^]*force the detach only once the machine is off/,
        }),
      );
    } finally {
      await gates.close();
      await turn(testbed.access, disk, {});
    }
  });

  it('finds a volume that stays mounted although no pod is left', async () => {
    const { scene, home, other } = await held('diagnose-mounted');
    await hangs(home, async () => {
      await deletePod(scene, 'holder', 0);
      await waits(scene, other);
      await waitForEvent(scene, MULTI_ATTACH);
      await delay(STUCK_AFTER_MS);
      expect(await answered(scene, 'waiter')).toEqual(
        expert({
          kind: 'unmount-stuck',
          waits: /attach-detach controller ← the kubelet of .* no timer ends this/,
          next: new RegExp(`restart the kubelet of ${home.name}`),
        }),
      );
    });
  });

  it('finds a detach that the driver may not make', async () => {
    const { scene, home, other, disk } = await held('diagnose-detach');
    await detachFails(scene, home, disk, 'api error UnauthorizedOperation: You are not authorized.');
    await waits(scene, other);
    expect(await answered(scene, 'waiter')).toEqual(
      expert({
        kind: 'stale-attachment',
        waits: /← the attacher of/,
        next: /fix what the error names[^]*annotate volumeattachment/,
      }),
    );
    await turn(testbed.access, disk, {});
  });

  it('finds a pod that was placed on a machine that is gone', async () => {
    const { scene, home } = await held('diagnose-target');
    await home.terminate();
    await waits(scene, home);
    expect(await answered(scene, 'waiter')).toEqual(
      expert({
        kind: 'target-machine-gone',
        code: 3,
        waits: new RegExp(`← ${home.name}, which cannot start it`),
        next: new RegExp(`cloudfence fence ${home.name}`),
      }),
    );
  });

  it('finds a local volume whose machine is off', async () => {
    const scene = await openScene(testbed, 'diagnose-local');
    const [home] = [await scene.addNode(), await scene.addNode()];
    const values = [home.name];
    await claimWith(scene, {
      local: { path: '/mnt/disks/one' },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] }],
        },
      },
    });
    await home.stop();
    await notReady(testbed, home.name);
    await scene.create(lonePod('waiter', { claims: ['data'] }));
    await waitForEvent(scene, /node affinity|unreachable/);
    expect(await answered(scene, 'waiter')).toEqual(
      expert({
        kind: 'local-volume',
        waits: new RegExp(`waiter ← ${home.name}`),
        next: new RegExp(`start ${home.instance}: its data is there again`),
      }),
    );
  });

  it('finds the controller of a driver on a machine that is off', async () => {
    const scene = await openScene(testbed, 'diagnose-attacher');
    const { namespace } = scene;
    const [home, dead] = [await scene.addNode(), await scene.addNode()];
    const driver = `${namespace}.example.org`;
    await register(home, driver);
    await claimWith(scene, { csi: { driver, volumeHandle: 'volume-1' } });
    await scene.create(lonePod('csi-controller', { spec: on(dead.name) }));
    await scene.runs('csi-controller', dead);
    await testbed.admin.write('POST', `${LEASES}/${namespace}/leases`, {
      metadata: { name: `external-attacher-leader-${driver.replaceAll('.', '-')}` },
      spec: { holderIdentity: 'csi-controller', leaseDurationSeconds: 15, ...renewal() },
    });
    await dead.stop();
    await hangs(home, async () => {
      await scene.create(lonePod('waiter', { claims: ['data'], spec: on(home.name) }));
      await attachmentTo(scene, home, driver);
      await delay(UNANSWERED_AFTER_MS);
      expect(await answered(scene, 'waiter')).toEqual(
        expert({
          kind: 'attacher-down',
          code: 3,
          waits: new RegExp(`external-attacher ← ${dead.name}`),
          next: new RegExp(`cloudfence fence ${dead.name}: the controller then starts on another Node`),
        }),
      );
    });
  });

  it('finds another client of a Ceph image, and the NetworkFences', async () => {
    const scene = await openScene(testbed, 'diagnose-ceph');
    const home = await scene.addNode();
    const driver = `${scene.namespace}.rbd.csi.ceph.com`;
    await register(home, driver);
    await claimWith(scene, { csi: { driver, volumeHandle: 'volume-1' } });
    const fence = await addNetworkFence(scene);
    await hangs(home, async () => {
      await scene.create(lonePod('waiter', { claims: ['data'], spec: on(home.name) }));
      const attachment = await attachmentTo(scene, home, driver);
      await testbed.admin.write('PATCH', `${ATTACHMENTS}/${attachment}/status`, { status: { attached: true } });
      await mountFails(
        scene,
        'waiter',
        'MountVolume.MountDevice failed for volume "data" : rpc error: code = Internal desc = rbd image pool/image is still being used',
      );
      expect(await answered(scene, 'waiter')).toEqual(
        expert({
          kind: 'rbd-watcher',
          waits: new RegExp(`← the kubelet of ${home.name}`),
          next: new RegExp(`rbd status[^]*NetworkFences in the cluster:.*${fence}`),
        }),
      );
    });
  });
});

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The API of CSI-Addons, as far as a reader needs it, and one fence that an operator has created. */
const addNetworkFence = async ({ namespace }: Scene): Promise<string> => {
  const [group, plural] = ['csiaddons.openshift.io', 'networkfences'];
  await testbed.admin.call('POST', CRDS, {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { kind: 'NetworkFence', listKind: 'NetworkFenceList', plural, singular: 'networkfence' },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  const path = `/apis/${group}/v1alpha1/${plural}`;
  const fence = {
    apiVersion: `${group}/v1alpha1`,
    kind: 'NetworkFence',
    metadata: { name: namespace },
    spec: { fenceState: 'Fenced', cidrs: ['10.0.0.7/32'] },
  };
  await until(
    'the API serves NetworkFences',
    async () => (await testbed.admin.call('POST', path, fence)).status === 201,
  );
  return namespace;
};

/** The event of a kubelet. */
const mountFails = async (scene: Scene, pod: string, message: string): Promise<void> => {
  const { namespace } = scene;
  const found = await until('the pod is there', async () => scene.pods(pod)[0]);
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  await testbed.admin.write('POST', `/api/v1/namespaces/${namespace}/events`, {
    metadata: { generateName: `${pod}.` },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name: pod, uid: found.metadata.uid },
    reason: 'FailedMount',
    message,
    type: 'Warning',
    source: { component: 'kubelet' },
    count: 1,
    firstTimestamp: at,
    lastTimestamp: at,
  });
};
