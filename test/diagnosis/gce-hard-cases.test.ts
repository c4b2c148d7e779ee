import { describe, expect, it } from 'vitest';
import { deleteInstance, failHost, recreate } from '../../sandbox/gce/scenario.ts';
import { diskIn as gceDiskIn } from '../../sandbox/gce/state.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { write } from '../../sandbox/history.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { addPodOn, attachFails, editIn } from './cloud-scenes.ts';
import { onGoogleCloud } from './gce-scene.ts';

/** Clusters on Google Cloud in which the most visible sign misleads, with the words of their drivers. */

const APP = 'pod/default/app';
const NUDGE = 'annotate volumeattachment';

describe('on Google Cloud', () => {
  it('the driver waits after an error that it no longer names', async () => {
    const scene = onGoogleCloud();
    const says = `ControllerPublish not permitted on node "${scene.machine}" due to backoff condition`;
    attachFails(scene, `rpc error: code = Unavailable desc = ${says}`);
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'attacher-backs-off', ending: 'by-person' });
    expect(cause.next[0]).toContain('kubectl -n default get events');
    expect(cause.next.join()).not.toContain(NUDGE);
  });

  it('the host of a machine is being repaired', async () => {
    const { world, otherMachine, diagnose } = onGoogleCloud();
    failHost(world, otherMachine);
    world.advance(55_000);
    const cause = theCause(await diagnose('pod/default/db-0'));
    expect(cause).toMatchObject({ kind: 'machine-unknown', confidence: 'cannot-tell' });
    expect(cause.proof.join()).toContain('REPAIRING');
    expect(cause.next.join()).not.toContain('credentials');
  });

  it('a machine was recreated under its name, and its attachment is that of the previous one', async () => {
    const { world, node, other, otherMachine, diagnose } = onGoogleCloud();
    editIn(world, 'nodes', [node], ({ spec }) => void (spec.unschedulable = true));
    addPodOn(world, 'app', other);
    world.advance(60_000);
    deleteInstance(world, otherMachine);
    world.advance(120_000);
    recreate(world, otherMachine);
    world.advance(20_000);
    const cause = theCause(await diagnose(APP));
    expect(cause).toMatchObject({ kind: 'stale-attachment', confidence: 'proved' });
    expect(cause.says).toContain('the disk is attached to no machine');
    expect(cause.next[0]).toContain('kubectl delete volumeattachment');
  });

  it('a disk is being restored', async () => {
    const scene = onGoogleCloud();
    const { world, disk } = scene;
    const found = gceDiskIn(world, disk);
    if (found) write(world.parts.gce.disks, disk, { ...found, status: 'RESTORING' }, world.now());
    attachFails(scene, `googleapi: Error 400: The resource '${disk}' is not ready, resourceNotReady`);
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'disk-busy', confidence: 'proved' });
    expect(cause.says).toContain('(RESTORING)');
  });

  it('the driver does not find a machine that runs', async () => {
    const scene = onGoogleCloud();
    const { node, machine } = scene;
    attachFails(scene, `Could not find instance ${node}: Error 404: The resource '${machine}' was not found, notFound`);
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'attach-failed', confidence: 'likely' });
    expect(cause.next.join()).not.toContain('cloudfence fence');
  });

  it('a disk is attached to write, and a second pod reads it: the mode alone does not share a disk', async () => {
    const scene = onGoogleCloud();
    const { world, node, other, driver, handle } = scene;
    editIn(world, 'persistentvolumes', ['pvc-default-app-data'], ({ spec }) => {
      spec.accessModes = ['ReadWriteOnce', 'ReadOnlyMany'];
    });
    addPodOn(world, 'app', other);
    world.advance(60_000);
    world.parts.cluster.knobs.attacherDown = true;
    addPodOn(world, 'reader', node);
    world.advance(120_000);
    editIn(world, 'volumeattachments', [attachmentName({ driver, handle }, node)], (object) => {
      const message =
        "operation op-1 failed (RESOURCE_IN_USE_BY_ANOTHER_RESOURCE): The disk resource is already being used by 'i'";
      object.status = { attached: false, attachError: { time: new Date(world.now()).toISOString(), message } };
    });
    const cause = theCause(await scene.diagnose('pod/default/reader'));
    expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'proved' });
    expect(cause.next.join()).not.toContain('detach it in the cloud');
  });

  it('the controller of the driver does not answer, and GKE runs it outside the cluster', async () => {
    const { world, node, diagnose } = onGoogleCloud();
    world.parts.cluster.knobs.attacherDown = true;
    addPodOn(world, 'app', node);
    world.advance(300_000);
    expect(theCause(await diagnose(APP)).next[0]).toContain('AKS and GKE run this controller outside the cluster');
  });
});

it('an attach to a disk in another project asks for the permission', async () => {
  const scene = onGoogleCloud();
  attachFails(
    scene,
    "rpc error: code = Internal desc = googleapi: Error 403: Required 'compute.disks.use' permission for 'projects/other/zones/z/disks/d', forbidden",
  );
  const { kind, next } = theCause(await scene.diagnose('pod/default/app'));
  expect(kind).toBe('not-permitted');
  expect(next.join('\n')).toContain('grant');
  expect(next.join('\n')).not.toContain('cloudfence fence');
});
