import { describe, expect, it } from 'vitest';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, addUnplaced, rollout, twoNodes } from './scenes.ts';

/** Another pod has the volume on a healthy Node. Nothing may be fenced. */

const removePod = (world: Parameters<typeof getObject>[0], name: string, grace?: number): void => {
  const pod = getObject(world, 'pods', name, 'default');
  if (pod) writerAs(world, 'person').remove('pods', pod, grace);
};

describe('another pod has the volume:', () => {
  it('a rollout that starts the new pod before it stops the old one', async () => {
    const { world } = rollout();
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/web-15-pod  not started for 2m00s on ip-10-0-0-13.eu-west-1.compute.internal, needs claim app-data
      └ claim app-data  Bound, ReadWriteOnce
        └ volume pvc-default-app-data  ebs.csi.aws.com vol-00000000000000006, eu-west-1a
          ├ attachment to ip-10-0-0-11.eu-west-1.compute.internal  attached, since 00:00:10Z, used by default/web-14-pod, the kubelet lists it as mounted
          │ └ Node ip-10-0-0-11.eu-west-1.compute.internal  Ready for 4m04s, last Lease 00:04:06Z
          │   └ machine i-00000000000000001  running (running), asked now
          ├ no attachment to ip-10-0-0-13.eu-west-1.compute.internal
          │ └ Node ip-10-0-0-13.eu-west-1.compute.internal  Ready for 4m04s, last Lease 00:04:06Z
          │   └ machine i-00000000000000003  running (running), asked now
          └ disk vol-00000000000000006  in-use, eu-west-1a, attached to i-00000000000000001 since 00:00:11Z
      CAUSE   The rollout of Deployment web starts web-15-pod before it stops web-14-pod, and pvc-default-app-data serves one Node at a time. Nothing is broken. [proved: rollout-surge]
      PROOF   both pods belong to Deployment web, revisions 15 and 14
              default/web-14-pod is Ready on ip-10-0-0-11.eu-west-1.compute.internal
      WAITS   default/web-15-pod ← disk ← default/web-14-pod ← rollout ← default/web-15-pod: a circle, it never ends by itself.
      NEXT    kubectl -n default patch deploy web -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}'
              or maxSurge: 0 with maxUnavailable: 1, a StatefulSet, or a ReadWriteMany volume
              do not fence ip-10-0-0-11.eu-west-1.compute.internal and do not force-delete web-14-pod: it writes to the volume
      "
    `);
    expect(theCause(answer)).toMatchObject({ kind: 'rollout-surge', confidence: 'proved', ending: 'by-person' });
    expect(answer.findings[0]?.rehearsal).toBeNull();
  });

  it('two workloads with one claim', async () => {
    const { world, node, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    addPod(world, 'backup', node);
    world.advance(120_000);
    const answer = await diagnoseSandbox(world);
    expect(answer.text).toMatchInlineSnapshot(`
      "
      pod default/backup  not started for 2m00s on ip-10-0-0-13.eu-west-1.compute.internal, needs claim app-data
      └ claim app-data  Bound, ReadWriteOnce
        └ volume pvc-default-app-data  ebs.csi.aws.com vol-00000000000000006, eu-west-1a
          ├ attachment to ip-10-0-0-11.eu-west-1.compute.internal  attached, since 00:00:10Z, used by default/app, the kubelet lists it as mounted
          │ └ Node ip-10-0-0-11.eu-west-1.compute.internal  Ready for 2m08s, last Lease 00:02:06Z
          │   └ machine i-00000000000000001  running (running), asked now
          ├ no attachment to ip-10-0-0-13.eu-west-1.compute.internal
          │ └ Node ip-10-0-0-13.eu-west-1.compute.internal  Ready for 2m08s, last Lease 00:02:06Z
          │   └ machine i-00000000000000003  running (running), asked now
          └ disk vol-00000000000000006  in-use, eu-west-1a, attached to i-00000000000000001 since 00:00:11Z
      CAUSE   Two workloads share the claim app-data, and pvc-default-app-data serves one Node at a time. [proved: shared-claim]
      PROOF   default/app runs on ip-10-0-0-11.eu-west-1.compute.internal, controlled by nothing
              default/backup is controlled by nothing
      WAITS   default/backup ← disk ← default/app, which has no reason to end.
      NEXT    give each workload a claim of its own, or use ReadWriteMany storage (a file share)
              or keep both on one Node with a podAffinity. For a Job: run it when app is stopped
              do not fence ip-10-0-0-11.eu-west-1.compute.internal: app is healthy
      "
    `);
    expect(theCause(answer).kind).toBe('shared-claim');
  });

  it('a claim for one pod only', async () => {
    const { world } = twoNodes();
    addUnplaced(
      world,
      '0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.',
    );
    expect(theCause(await diagnoseSandbox(world)).kind).toBe('read-write-once-pod');
  });

  it('a pod whose container outlives its grace period', async () => {
    const { world, node, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    addPod(world, 'next', node);
    world.advance(10_000);
    edit(world, 'pods', ['app', 'default'], ({ metadata }) => {
      metadata.deletionTimestamp = new Date(world.now() - 90_000).toISOString().replace(/\.\d+Z$/, 'Z');
      metadata.deletionGracePeriodSeconds = 30;
    });
    const { findings, text } = await diagnoseSandbox(world);
    expect(findings.map(({ cause }) => cause.kind)).toEqual(['pod-does-not-end', 'pod-does-not-end']);
    expect(text).toMatchSnapshot();
  });

  it('a pod that has ended, but whose volume cannot be unmounted', async () => {
    const { world, node, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    world.parts.cluster.knobs.unmountMs = 3_600_000;
    removePod(world, 'app');
    addPod(world, 'next', node);
    world.advance(300_000);
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      status.containerStatuses = [{ name: 'main', ready: false, state: { terminated: {} } }];
    });
    const { findings, text } = await diagnoseSandbox(world, 'pod/default/next');
    expect(
      findings.map(({ cause }) => cause.kind),
      text,
    ).toEqual(['unmount-stuck']);
  });

  it('a pod that has ended, but whose volume is on a server that is gone', async () => {
    const { world, other } = twoNodes();
    edit(world, 'persistentvolumes', ['pvc-default-app-data'], ({ spec }) => {
      delete spec.csi;
      Object.assign(spec, { nfs: { server: 'files.example.org', path: '/' } });
    });
    addPod(world, 'app', other);
    settle(world);
    world.parts.cluster.knobs.unmountMs = 3_600_000;
    removePod(world, 'app');
    world.advance(300_000);
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      status.containerStatuses = [{ name: 'main', ready: false, state: { terminated: {} } }];
    });
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'storage-server-gone', confidence: 'likely' });
  });

  it('no pod any more, but the kubelet of a Ready Node keeps the volume mounted', async () => {
    const { world, node, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    world.parts.cluster.knobs.unmountMs = 3_600_000;
    removePod(world, 'app', 0);
    addPod(world, 'next', node);
    world.advance(300_000);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'unmount-stuck', confidence: 'likely' });
    edit(world, 'csinodes', [other], ({ spec }) => void (spec.drivers = []));
    expect(theCause(await diagnoseSandbox(world))).toMatchObject({
      kind: 'driver-missing-on-holder',
      confidence: 'proved',
    });
  });

  it('for the few seconds of every move', async () => {
    const { world, node, other } = twoNodes();
    addPod(world, 'app', other);
    settle(world);
    removePod(world, 'app', 0);
    addPod(world, 'next', node);
    world.advance(1_500);
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'moving-now', ending: 'by-itself' });
    settle(world);
    expect((await diagnoseSandbox(world)).findings).toEqual([]);
  });

  it('for the few seconds in which the kubelet mounts what is attached', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    settle(world);
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      status.phase = 'Pending';
      status.conditions = [];
      status.containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason: 'ContainerCreating' } } }];
    });
    const answer = await diagnoseSandbox(world);
    expect(theCause(answer), answer.text).toMatchObject({ kind: 'moving-now', ending: 'by-itself' });
    expect(theCause(answer).says).toContain('mounts it and starts the pod');
  });
});
