import { describe, expect, it } from 'vitest';
import { deleteInstance, failHost, recreate } from '../../sandbox/gce/scenario.ts';
import { diskIn as gceDiskIn } from '../../sandbox/gce/state.ts';
import { write } from '../../sandbox/history.ts';
import { theCause } from './any-rig.ts';
import { addPodOn, attachFails, editIn } from './cloud-scenes.ts';
import { onGoogleCloud } from './gce-scene.ts';

/** Clusters on Google Cloud in which the loudest sign misleads, with the words of their drivers. */

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

  it('a machine was made anew under its name, and its attachment is a memory', async () => {
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

  it('a disk that is being restored', async () => {
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
});
