import { describe, expect, it } from 'vitest';
import { addMachine, forget, stopGuest } from '../../sandbox/azure/scenario.ts';
import { diskIn } from '../../sandbox/azure/state.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { write } from '../../sandbox/history.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { addAttachment, addPodOn, attachFails } from './cloud-scenes.ts';
import { onAzure } from './azure-scene.ts';

/** Clusters on Azure in which the most visible sign misleads, with the words of their drivers. */

const APP = 'pod/default/app';
const NUDGE = 'annotate volumeattachment';

type AzureScene = ReturnType<typeof onAzure>;

/** Changes the disk in the cloud, without Kubernetes. */
const changeDisk = ({ world, disk }: AzureScene, changed: Partial<NonNullable<ReturnType<typeof diskIn>>>): void => {
  const found = diskIn(world, disk);
  if (found) write(world.parts.azure.disks, disk, { ...found, ...changed }, world.now());
};

const heldBy = (machine: string) => ({ attachments: [{ machine, lun: 5, state: 'attached', forced: false } as const] });

describe('on Azure', () => {
  it('the refusal to attach follows from an attachment that nothing uses, and has no code', async () => {
    const scene = onAzure();
    const { handle, node, other, otherMachine } = scene;
    changeDisk(scene, heldBy(otherMachine));
    addAttachment(scene, other);
    attachFails(
      scene,
      `rpc error: code = Internal desc = disk(${handle}) already attached to node(${otherMachine}), could not be attached to node(${node})`,
    );
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'stale-attachment', confidence: 'proved' });
    expect(cause.next[0]).toContain(`if nothing on ${other} uses it: kubectl delete volumeattachment`);
  });

  it('a detach that has begun is not a use of the disk', async () => {
    const scene = onAzure();
    const { handle, other, otherMachine } = scene;
    changeDisk(scene, heldBy(otherMachine));
    attachFails(scene, `disk(${handle}) is in ToBeDetached state on node(${other}): detach in progress`);
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'detach-pending', confidence: 'proved' });
    expect(cause.next[0]).toContain(`nothing on ${otherMachine} uses the disk`);
    scene.world.advance(3_600_000);
    expect(theCause(await scene.diagnose(APP))).toMatchObject({ kind: 'attached-outside', confidence: 'proved' });
  });

  it.each([
    ['is stopped', stopGuest, '(off)', 'that machine is off, so nothing there uses it'],
    ['hides from the cloud', forget, '(missing)', 'find out what uses it on'],
  ] as const)('a machine outside of the cluster that %s holds the disk', async (_, change, state, advice) => {
    const scene = onAzure();
    const stranger = addMachine(scene.world);
    changeDisk(scene, heldBy(stranger));
    attachFails(scene, `disk(${scene.handle}) is in ToBeDetached state on node(${stranger}): detach in progress`);
    change(scene.world, stranger);
    scene.world.advance(3_600_000);
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'attached-outside', confidence: 'proved' });
    expect(cause.says).toContain(`which is no Node of this cluster ${state}.`);
    expect(cause.next[0]).toContain(advice);
  });

  it('a disk that somebody is exporting is named', async () => {
    const scene = onAzure();
    changeDisk(scene, { exported: true });
    attachFails(scene, `state of disk(${scene.handle}) is ActiveSAS, not in expected Unattached state`);
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'disk-busy', confidence: 'proved', ending: 'by-person' });
    expect(cause.says).toContain('(ActiveSAS)');
  });

  it.each([
    "ERROR CODE: ResourceNotFound The Resource 'Microsoft.Compute/virtualMachines/a' under resource group 'b' was not found.",
    'failed to get azure instance id for node aks-1 (instance not found)',
  ])('the driver does not find a machine that runs: %s', async (says) => {
    const scene = onAzure();
    attachFails(scene, says);
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'attach-failed', confidence: 'likely', ending: 'by-person' });
    expect(cause.next.join()).not.toContain('cloudfence fence');
  });

  it.each([
    ['target-machine-gone', 'failed to get azure instance id for node aks-1 (instance not found)'],
    ['disk-deleted', 'rpc error: code = NotFound desc = Volume not found, failed with error: 404'],
  ])('without credentials for the cloud, the driver’s words decide: %s', async (kind, says) => {
    const scene = onAzure();
    attachFails(scene, says);
    const answer = await scene.diagnose(APP, 'for the cluster');
    expect(answer.findings.map(({ cause }) => cause.kind)).toEqual([kind]);
    expect(answer.unread).toEqual(['no credentials for the cloud']);
  });

  it('a disk that the credentials may not read is not deleted', async () => {
    const scene = onAzure();
    const { world, node, driver } = scene;
    const handle = scene.handle.replace(/subscriptions\/[^/]+/, 'subscriptions/99999999-3333-4444-8555-666677778888');
    addBoundClaim(world, 'far', { driver, handle, zone: 'westeurope-1' });
    addPodOn(world, 'app', node, 'far');
    world.advance(300_000);
    const answer = await scene.diagnose(APP);
    expect(answer.findings.map(({ cause }) => cause.kind)).toEqual(['attach-failed']);
    expect(answer.unread).toEqual([expect.stringContaining('another account')]);
  });

  it('a driver that Azure throttles is not nudged', async () => {
    const scene = onAzure();
    attachFails(scene, 'azure cloud provider throttled for operation DiskAttach with reason "client throttled"');
    const cause = theCause(await scene.diagnose(APP));
    expect(cause).toMatchObject({ kind: 'throttled', ending: 'by-itself' });
    expect(cause.next.join()).not.toContain(NUDGE);
  });

  it('a machine that the cloud does not show may run while its disk names it', async () => {
    const { world, otherMachine, diagnose } = onAzure();
    forget(world, otherMachine);
    world.advance(180_000);
    const cause = theCause(await diagnose('pod/default/db-0'));
    expect(cause).toMatchObject({ kind: 'machine-off', confidence: 'likely' });
    expect(cause.next[0]).toContain('it may run');
  });

  it('a file share keeps no disk, and its pod waits all the same', async () => {
    const { world, other, otherMachine, diagnose } = onAzure();
    const driver = 'file.csi.azure.com';
    writerAs(world, 'admin').create('csidrivers', {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: driver },
      spec: { attachRequired: false },
    });
    addBoundClaim(world, 'share', { driver, handle: 'group#account#share', zone: 'westeurope-1' });
    addPodOn(world, 'app', other, 'share');
    world.advance(60_000);
    stopGuest(world, otherMachine);
    world.advance(900_000);
    const cause = theCause(await diagnose(APP));
    expect(cause).toMatchObject({ kind: 'machine-off', ending: 'by-fence' });
    expect(cause.says).not.toContain('detach');
  });

  it('a Node is gone, and nobody may ask the cloud: a person has to find out whether its machine runs', async () => {
    const scene = onAzure();
    const { world, node, other } = scene;
    addPodOn(world, 'app', other);
    world.advance(60_000);
    world.parts.cluster.knobs.partitioned.push(other);
    const object = getObject(world, 'nodes', other);
    if (object) writerAs(world, 'person').remove('nodes', object);
    const pod = getObject(world, 'pods', 'app', 'default');
    if (pod) writerAs(world, 'person').remove('pods', pod, 0);
    world.advance(30_000);
    addPodOn(world, 'next', node);
    world.advance(120_000);
    const { findings, text } = await scene.diagnose('pod/default/next', 'for the cluster');
    expect(findings[0]?.cause, text).toMatchObject({ kind: 'node-gone', confidence: 'likely', ending: 'by-person' });
    expect(findings[0]?.cause.next[0]).toContain('nothing in the cluster names it any more');
    expect(text).toMatchSnapshot();
  });

  it('the controller of the driver does not answer, and AKS runs it outside the cluster', async () => {
    const { world, node, diagnose } = onAzure();
    world.parts.cluster.knobs.attacherDown = true;
    addPodOn(world, 'app', node);
    world.advance(300_000);
    const cause = theCause(await diagnose(APP));
    expect(cause.kind).toBe('attacher-down');
    expect(cause.next[0]).toContain('AKS and GKE run this controller outside the cluster');
  });

  it('the size of the machine does not take the type of the disk', async () => {
    const scene = onAzure();
    attachFails(
      scene,
      'ERROR CODE: InvalidParameter: the VM size Standard_D2_v3 does not support the storage account type Premium_LRS of disk',
    );
    expect(theCause(await scene.diagnose(APP)).kind).toBe('incompatible');
  });
});

describe('the driver cannot attach the disk', () => {
  it.each([
    [
      'it belonged to another machine',
      'ConflictingUserInput: Disk d cannot be attached as the disk is already owned by VM m.',
      'attacher-backs-off',
      'No machine has it any more',
    ],
    [
      'a policy denies the change of the machine',
      'RequestDisallowedByPolicy: Resource vm was disallowed by policy.',
      'attach-failed',
      'disallowed by policy',
    ],
  ])('%s', async (_, code, expected, words) => {
    const scene = onAzure();
    attachFails(scene, `rpc error: code = Internal desc = ERROR CODE: ${code}`);
    const { kind, says, proof } = theCause(await scene.diagnose('pod/default/app'));
    expect(kind).toBe(expected);
    expect([says, ...proof].join('\n')).toContain(words);
  });
});
