import { describe, expect, it } from 'vitest';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { QUARANTINE } from '../../kubernetes/names.ts';
import { forgotten, nodeGone, stage, stopped, stopMachine } from '../simulation/incidents.ts';
import { forget } from '../../sandbox/ec2/scenario.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addClaim, addPod, at } from './scenes.ts';

/** The machine of the volume. What Kubernetes shows is the same for all, and only the cloud distinguishes them. */

const FIVE_MINUTES = 300_000;

describe('a pod whose volume is on a machine that', () => {
  it('is off: the answer has the proof, the pods that wait, and the steps of a fence', async () => {
    const { world } = stopped();
    world.advance(120_000);
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/db-0  runs, not ready, created 2m35s ago on ip-10-0-0-11.eu-west-1.compute.internal, needs claim data-db-0
      └ claim data-db-0  Bound, ReadWriteOnce
        └ volume pvc-default-data-db-0  ebs.csi.aws.com vol-00000000000000005, eu-west-1a
          ├ attachment to ip-10-0-0-11.eu-west-1.compute.internal  attached, since 00:00:06Z, the kubelet lists it as mounted
          │ └ Node ip-10-0-0-11.eu-west-1.compute.internal  NotReady for 1m17s, last Lease 00:00:26Z
          │   └ machine i-00000000000000001  off (stopped), asked now
          └ disk vol-00000000000000005  in-use, eu-west-1a, attached to i-00000000000000001 since 00:00:07Z
      CAUSE   The machine of ip-10-0-0-11.eu-west-1.compute.internal is off. Kubernetes may not detach pvc-default-data-db-0, because it cannot know that. [proved: machine-off]
      PROOF   Node ip-10-0-0-11.eu-west-1.compute.internal is NotReady for 1m17s, last Lease 00:00:26Z
              the cloud says of i-00000000000000001: stopped
              ip-10-0-0-11.eu-west-1.compute.internal listed the volume as mounted when it last reported
      WAITS   default/db-0 ← the kubelet of ip-10-0-0-11.eu-west-1.compute.internal, which cannot answer. Kubernetes starts no timer while this pod exists.
      NEXT    cloudfence fence ip-10-0-0-11.eu-west-1.compute.internal --dry-run
              cloudfence fence ip-10-0-0-11.eu-west-1.compute.internal
      DRY RUN cloudfence fence would end as would-fence: dry run: Cloudfence would take 2 steps, and would then wait for Kubernetes
              mark                   node/ip-10-0-0-11.eu-west-1.compute.internal
              delete-pod             pod/default/db-0
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'machine-off', confidence: 'proved', ending: 'by-fence' });
  });

  it('is off: the answer is the same for the pod that replaces it on another Node', async () => {
    const { world, scene } = stopped();
    world.advance(FIVE_MINUTES + 60_000);
    const [pod] = listObjects(world, 'pods');
    if (pod) writerAs(world, 'person').remove('pods', pod, 0);
    world.advance(30_000);
    const answer = await diagnoseSandbox(world, `pvc/default/data-db-0`);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/db-0  not started for 30s on ip-10-0-0-13.eu-west-1.compute.internal, needs claim data-db-0
      └ claim data-db-0  Bound, ReadWriteOnce
        └ volume pvc-default-data-db-0  ebs.csi.aws.com vol-00000000000000005, eu-west-1a
          ├ attachment to ip-10-0-0-11.eu-west-1.compute.internal  attached, since 00:00:06Z, no pod uses it, the kubelet lists it as mounted
          │ └ Node ip-10-0-0-11.eu-west-1.compute.internal  NotReady for 5m47s, last Lease 00:00:26Z
          │   └ machine i-00000000000000001  off (stopped), asked now
          ├ no attachment to ip-10-0-0-13.eu-west-1.compute.internal
          │ └ Node ip-10-0-0-13.eu-west-1.compute.internal  Ready for 6m59s, last Lease 00:06:56Z
          │   └ machine i-00000000000000003  running (running), asked now
          └ disk vol-00000000000000005  in-use, eu-west-1a, attached to i-00000000000000001 since 00:00:07Z
      CAUSE   The machine of ip-10-0-0-11.eu-west-1.compute.internal is off. Kubernetes may not detach pvc-default-data-db-0, because it cannot know that. [proved: machine-off]
      PROOF   Node ip-10-0-0-11.eu-west-1.compute.internal is NotReady for 5m47s, last Lease 00:00:26Z
              the cloud says of i-00000000000000001: stopped
              ip-10-0-0-11.eu-west-1.compute.internal listed the volume as mounted when it last reported
      WAITS   default/db-0 ← attach-detach controller ← the kubelet of ip-10-0-0-11.eu-west-1.compute.internal, which cannot answer. Kubernetes' six-minute timer fires about 00:12:35Z, unless it is switched off (--disable-force-detach-on-timeout).
      NEXT    cloudfence fence ip-10-0-0-11.eu-west-1.compute.internal --dry-run
              cloudfence fence ip-10-0-0-11.eu-west-1.compute.internal
      DRY RUN cloudfence fence would end as would-fence: dry run: Cloudfence would take 1 step, and would then wait for Kubernetes
              mark                   node/ip-10-0-0-11.eu-west-1.compute.internal
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'machine-off', confidence: 'proved' });
    expect(theCause(await diagnoseSandbox(world, scene.volume)).kind).toBe('machine-off');
    expect(theCause(await diagnoseSandbox(world, 'pv/pvc-default-data-db-0')).kind).toBe('machine-off');
    expect(theCause(await diagnoseSandbox(world, `node/${scene.nodeOf(scene.holder)}`)).kind).toBe('machine-off');
  });

  it('runs, but is unreachable: nothing may be fenced', async () => {
    const { world, scene } = stage(1);
    world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
    world.advance(120_000);
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/db-0  runs, not ready, created 2m10s ago on ip-10-0-0-11.eu-west-1.compute.internal, needs claim data-db-0
      └ claim data-db-0  Bound, ReadWriteOnce
        └ volume pvc-default-data-db-0  ebs.csi.aws.com vol-00000000000000005, eu-west-1a
          ├ attachment to ip-10-0-0-11.eu-west-1.compute.internal  attached, since 00:00:06Z, the kubelet lists it as mounted
          │ └ Node ip-10-0-0-11.eu-west-1.compute.internal  NotReady for 1m12s, last Lease 00:00:06Z
          │   └ machine i-00000000000000001  running (running), asked now
          └ disk vol-00000000000000005  in-use, eu-west-1a, attached to i-00000000000000001 since 00:00:07Z
      CAUSE   ip-10-0-0-11.eu-west-1.compute.internal is cut off or hangs, but its machine runs, and it may still write to pvc-default-data-db-0. Do not fence it in this state. [proved: machine-unreachable]
      PROOF   Node ip-10-0-0-11.eu-west-1.compute.internal is NotReady for 1m12s, last Lease 00:00:06Z
              the cloud says of i-00000000000000001: running
              ip-10-0-0-11.eu-west-1.compute.internal listed the volume as mounted when it last reported
              it is unknown why its kubelet is silent
      WAITS   default/db-0 ← the kubelet of ip-10-0-0-11.eu-west-1.compute.internal, which cannot answer. Kubernetes starts no timer while this pod exists.
      NEXT    repair the network or the kubelet of ip-10-0-0-11.eu-west-1.compute.internal: the pod then moves by itself
              or stop i-00000000000000001 in its cloud, then: cloudfence fence ip-10-0-0-11.eu-west-1.compute.internal
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'machine-unreachable', ending: 'by-person' });
  });

  it('cannot be read: the answer says so and does not guess', async () => {
    const { world } = stopped();
    world.advance(120_000);
    const denied = {
      ec2Takes: () => {
        throw new Error('no credentials');
      },
    };
    const answer = await diagnoseSandbox(world, undefined, denied);
    expect(theCause(answer)).toMatchObject({ kind: 'machine-unknown', confidence: 'cannot-tell' });
    expect(answer.unread.join()).toContain('ec2:DescribeInstances');
  });

  it('is still stopping', async () => {
    const { world, scene } = stage(1);
    stopMachine(world, scene.holder);
    world.advance(3_000);
    expect(theCause(await diagnoseSandbox(world, 'pod/default/db-0')).kind).toBe('machine-stopping');
  });

  it.each([
    ['Cloudfence has no trace on its Node', [] as const],
    ['its Node is under quarantine', [QUARANTINE]],
  ])('runs, although somebody told Kubernetes that it is off: %s', async (_case, ours) => {
    const { world, scene } = stage(1);
    const node = scene.nodeOf(scene.holder);
    world.parts.cluster.knobs.partitioned.push(node);
    world.advance(120_000);
    edit(world, 'nodes', [node], ({ spec }) => {
      const foreign = { key: 'node.kubernetes.io/out-of-service', effect: 'NoSchedule' } as const;
      spec.taints = [...(spec.taints ?? []), ...ours, foreign];
    });
    const { kind, next, waits } = theCause(await diagnoseSandbox(world));
    expect(kind).toBe('machine-unreachable');
    expect(next[0]).toContain(`kubectl taint node ${node} node.kubernetes.io/out-of-service-`);
    expect(waits).toContain('detaches the disk at once');
  });

  it('is suspended: its memory would write again', async () => {
    const { world, scene } = stopped();
    const [kept, instance] = [world.parts.ec2.instances[scene.holder], instanceIn(world, scene.holder)];
    const stateReason = { code: 'Client.UserInitiatedHibernate', message: '' };
    if (kept && instance)
      world.parts.ec2.instances[scene.holder] = { ...kept, present: { ...instance, canHibernate: true, stateReason } };
    world.advance(120_000);
    const answer = await diagnoseSandbox(world, 'pod/default/db-0');
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'machine-suspended', ending: 'by-person' });
    expect(answer.findings[0]?.rehearsal).toBeNull();
  });

  it('is off, and was just chosen for a pod that never started there', async () => {
    const { world, scene } = stage(1);
    addClaim(world);
    world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.spare));
    addPod(world, 'app', scene.nodeOf(scene.spare));
    world.parts.cluster.knobs.attacherDown = true;
    stopMachine(world, scene.spare);
    world.advance(30_000);
    const answer = await diagnoseSandbox(world, 'pod/default/app');
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'target-machine-gone', confidence: 'proved' });
  });

  it('is unknown to the cloud, while its kubelet renews its Lease: then no fence is possible', async () => {
    const { world, scene } = stage(1);
    addClaim(world);
    addPod(world, 'app', scene.nodeOf(scene.spare));
    world.parts.cluster.knobs.attacherDown = true;
    forget(world, scene.spare);
    const answer = await diagnoseSandbox(world, 'pod/default/app');
    expect(theCause(answer).kind).not.toBe('target-machine-gone');
  });

  it('is off, although somebody has deleted the claim meanwhile: a pod that ran does not wait for that', async () => {
    const { world } = stopped();
    world.advance(120_000);
    edit(world, 'persistentvolumeclaims', ['data-db-0', 'default'], ({ metadata }) => {
      metadata.finalizers = ['kubernetes.io/pvc-protection'];
      metadata.deletionTimestamp = at(world, -60_000);
    });
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({ kind: 'machine-off', ending: 'by-fence' });
  });

  it('is terminated and forgotten by its cloud', async () => {
    const { world } = forgotten();
    world.advance(120_000);
    expect(theCause(await diagnoseSandbox(world, 'pod/default/db-0'))).toMatchObject({ kind: 'machine-off' });
  });

  it('is off, and its Node is gone', async () => {
    const { world } = nodeGone();
    world.advance(60_000);
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/db-0  not started for 15s on ip-10-0-0-13.eu-west-1.compute.internal, needs claim data-db-0
      └ claim data-db-0  Bound, ReadWriteOnce
        └ volume pvc-default-data-db-0  ebs.csi.aws.com vol-00000000000000005, eu-west-1a
          ├ attachment to ip-10-0-0-11.eu-west-1.compute.internal  attached, since 00:00:06Z, no pod uses it
          │ └ Node ip-10-0-0-11.eu-west-1.compute.internal  does not exist
          │   └ machine i-00000000000000001  off (stopped), asked now
          ├ no attachment to ip-10-0-0-13.eu-west-1.compute.internal
          │ └ Node ip-10-0-0-13.eu-west-1.compute.internal  Ready for 1m29s, last Lease 00:01:26Z
          │   └ machine i-00000000000000003  running (running), asked now
          └ disk vol-00000000000000005  in-use, eu-west-1a, attached to i-00000000000000001 since 00:00:07Z
      CAUSE   Node ip-10-0-0-11.eu-west-1.compute.internal no longer exists, and its machine is gone or off, but pvc-default-data-db-0 is still attached to it. [proved: node-gone]
      PROOF   Node ip-10-0-0-11.eu-west-1.compute.internal does not exist
              the cloud says of i-00000000000000001: stopped
              VolumeAttachment csi-fac884f77a6b2c9a1951a3290ecb3cf2c55c2c57e346dcd3e325c8224473ff77 still exists
      WAITS   default/db-0 ← attach-detach controller ← a Node that does not exist. Kubernetes' six-minute timer fires about 00:07:20Z, unless it is switched off (--disable-force-detach-on-timeout).
      NEXT    cloudfence fence i-00000000000000001
              or check that nothing runs on i-00000000000000001, then: kubectl delete volumeattachment csi-fac884f77a6b2c9a1951a3290ecb3cf2c55c2c57e346dcd3e325c8224473ff77
      DRY RUN cloudfence fence would end as would-fence: dry run: Cloudfence would take 1 step, and would then wait for Kubernetes
              delete-attachment      volumeattachment/csi-fac884f77a6b2c9a1951a3290ecb3cf2c55c2c57e346dcd3e325c8224473ff77
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'node-gone', confidence: 'proved' });
  });

  it('runs, and its Node is gone: the disk must not be taken', async () => {
    const { world, scene } = stage(1);
    world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
    const node = listObjects(world, 'nodes').find(({ metadata }) => metadata.name === scene.nodeOf(scene.holder));
    if (node) writerAs(world, 'person').remove('nodes', node);
    world.advance(60_000);
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({ kind: 'node-gone-machine-runs' });
  });
});

it('is healthy: the answer says that nothing waits', async () => {
  const { world } = stage(1);
  expect((await diagnoseSandbox(world)).text.trim()).toBe('No pod waits for a volume.');
  expect(theCause(await diagnoseSandbox(world, 'pod/default/db-0')).kind).toBe('not-waiting');
});

it('does not exist: the name is rejected', async () => {
  const { world } = stage(1);
  await expect(diagnoseSandbox(world, 'pod/default/nobody')).rejects.toThrow(
    'there is no pod default/nobody in sandbox. If it was never created, `cloudfence diagnose` without a target says why',
  );
  await expect(diagnoseSandbox(world, 'svc/db')).rejects.toThrow(
    '"svc/db" is not the id of a volume in sandbox: a target is pod/<namespace>/<name>, pvc/',
  );
  await expect(diagnoseSandbox(world, 'pod/a/b/c')).rejects.toThrow('is not pod/<namespace>/<name>');
});
