import { describe, expect, it } from 'vitest';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { put, write } from '../../sandbox/history.ts';
import { addInstance, forget } from '../../sandbox/ec2/scenario.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, addPodEvent, held, twoNodes, unanswered } from './scenes.ts';

/** Machines that restart, hide, hang, or are not of this cloud, and controllers that do not act. */

const APP = 'pod/default/app';
const NEXT = 'pod/default/next';

const removeNode = (world: AwsWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (node) writerAs(world, 'person').remove('nodes', node);
};

/** Writes the state of the instance, as EC2 shows it. */
const putInstance = (world: AwsWorld, id: string, changed: object): void => {
  const [kept, instance] = [world.parts.ec2.instances[id], instanceIn(world, id)];
  if (kept && instance) world.parts.ec2.instances[id] = { ...kept, present: { ...instance, ...changed } };
};

/** The pod `app` ran on the other Node, whose kubelet is silent now, and `next` waits on its own. */
const silentHolder = () => {
  const begun = held();
  const { world, other } = begun;
  world.parts.cluster.knobs.partitioned.push(other);
  world.advance(180_000);
  return begun;
};

describe('the machine of the Node that has the volume', () => {
  it('was started again, by an autoscaling group for example: nothing is to be fenced', async () => {
    const { world, scene } = silentHolder();
    putInstance(world, scene.holder, { state: 'pending' });
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause).toMatchObject({ kind: 'machine-stopping', ending: 'by-itself' });
    expect(cause.next.join()).toContain('do not fence it');
  });

  it('has been stopping for twenty minutes', async () => {
    const { world, scene } = silentHolder();
    world.advance(1_200_000);
    putInstance(world, scene.holder, { state: 'stopping' });
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause.kind).toBe('machine-stopping');
    expect(cause.next[0]).toContain('force the stop');
  });

  it('is of no supported cloud: the answer names no command that cannot work', async () => {
    const { world, other } = silentHolder();
    edit(world, 'nodes', [other], ({ spec, metadata }) => {
      spec.providerID = 'vsphere://4230-aa';
      metadata.annotations = {};
    });
    edit(world, 'csinodes', [other], ({ spec }) => void (spec.drivers = []));
    edit(world, 'persistentvolumes', ['pvc-default-app-data'], ({ spec }) => {
      spec.csi = { driver: 'csi.vsphere.vmware.com', volumeHandle: 'fcd-1' };
    });
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause).toMatchObject({ kind: 'machine-unknown', confidence: 'cannot-tell' });
    expect(cause.next.join()).not.toMatch(/cloudfence fence/);
    expect(cause.next.join()).toContain('out-of-service=nodeshutdown');
  });
});

describe('the Node that has the volume is gone', () => {
  it('and the cloud hides its machine, while its disk names it: nobody is told to delete the attachment', async () => {
    const { world, scene, other } = silentHolder();
    removeNode(world, other);
    forget(world, scene.holder);
    const cause = theCause(await diagnoseSandbox(world, NEXT));
    expect(cause).toMatchObject({ kind: 'node-gone-machine-runs', confidence: 'cannot-tell', ending: 'by-person' });
    expect(cause.next.join()).not.toContain('kubectl delete');
  });
});

describe('the wrong region:', () => {
  it('neither the disk nor the machine of a Node that works is known, so nothing was deleted', async () => {
    const { world, scene, disk } = unanswered();
    write(world.parts.ec2.volumes, disk, null, world.now());
    forget(world, scene.spare);
    world.advance(10_000);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'disk-deleted', confidence: 'cannot-tell' });
    expect(cause.next.join()).toContain('restore nothing before');
    expect(cause.next.join()).not.toContain('restore a snapshot');
  });
});

describe('the pod’s own Node', () => {
  it('is cut off, and has just been chosen for the pod', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    world.parts.cluster.knobs.partitioned.push(node);
    world.advance(120_000);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'machine-unreachable', ending: 'by-person' });
  });

  it('does not exist', async () => {
    const { world } = twoNodes();
    addPod(world, 'app', 'typo');
    edit(world, 'pods', ['app', 'default'], ({ spec }) => void (spec.nodeName = 'typo'));
    expect(theCause(await diagnoseSandbox(world, APP))).toMatchObject({
      kind: 'target-machine-gone',
      ending: 'by-itself',
    });
  });

  it.each(['Running', 'Terminating'])('is off, and the pod has no volume: %s', async (state) => {
    const { world, scene, other } = twoNodes();
    addBarePod(world, { name: 'app', spec: { nodeSelector: { 'kubernetes.io/hostname': other } } });
    settle(world);
    stopMachine(world, scene.holder);
    world.advance(state === 'Running' ? 120_000 : 420_000);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause).toMatchObject({ kind: 'machine-off', ending: 'by-fence' });
    expect(cause.says).not.toContain('claim');
  });
});

describe('nothing makes a VolumeAttachment', () => {
  const without = (): AwsWorld => {
    const { world, node } = unanswered();
    for (const one of Object.values(world.parts.cluster.objects.volumeattachments))
      if (one.spec.nodeName === node) writerAs(world, 'person').remove('volumeattachments', one);
    for (const event of Object.values(world.parts.cluster.objects.events))
      writerAs(world, 'person').remove('events', event);
    return world;
  };

  it.each([
    ['denied', 'exempt', 'admission webhook "policy.example.org" denied the request: no owner label'],
    ['broken', 'service of that webhook', 'failed calling webhook "policy.example.org": context deadline exceeded'],
    ['forbidden', 'fix what the error names', 'volumeattachments.storage.k8s.io is forbidden: quota'],
  ])('and an event says why: %s', async (_case, word, says) => {
    const world = without();
    addPodEvent(world, 'FailedAttachVolume', `AttachVolume.Attach failed for volume "pvc-default-app-data" : ${says}`);
    const cause = theCause(await diagnoseSandbox(world, APP));
    expect(cause.kind).toBe('attach-failed');
    expect(cause.next.join()).toContain(word);
  });

  it('and nothing says why', async () => {
    const cause = theCause(await diagnoseSandbox(without(), APP));
    expect(cause).toMatchObject({ kind: 'controller-down', confidence: 'cannot-tell' });
    expect(cause.next[0]).toContain('kube-controller-manager');
  });
});

it('a machine that has the disk may be a Node, because Nodes may not be listed', async () => {
  const { world, disk } = unanswered();
  const stranger = addInstance(world);
  const volume = volumeIn(world, disk);
  const attachment = { instance: stranger, device: '/dev/xvdz', state: 'attached', at: world.now() } as const;
  if (volume)
    put(world.parts.ec2.volumes, disk, {
      ...volume,
      attachments: [{ ...attachment, deleteOnTermination: false, forced: false }],
    });
  world.parts.cluster.knobs.attacherDown = false;
  world.advance(60_000);
  const troubles = {
    api: {
      before: ({ path }: { readonly path: string }) =>
        /\/nodes(?:\?|$)/.test(path)
          ? {
              status: 403,
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({
                kind: 'Status',
                status: 'Failure',
                reason: 'Forbidden',
                message: 'no',
                code: 403,
              }),
            }
          : undefined,
    },
  };
  const cause = theCause(await diagnoseSandbox(world, APP, troubles));
  expect(cause).toMatchObject({ kind: 'attached-outside', confidence: 'likely' });
  expect(cause.next[0]).toContain('permission to list Nodes');
});
