import { describe, expect, it } from 'vitest';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addClaimEvent, addEvent, addPod, at, setClaimPending, twoNodes } from './scenes.ts';

/** Claims and volumes that no pod waits for, and that do not become what someone asked for. */

const CLAIM = ['app-data', 'default'] as const;
const VOLUME = 'pvc-default-app-data';

const claimGoes = (world: AwsWorld): void =>
  edit(world, 'persistentvolumeclaims', CLAIM, ({ metadata }) => {
    metadata.finalizers = ['snapshot.storage.kubernetes.io/pvc-as-source-protection'];
    metadata.deletionTimestamp = at(world, -300_000);
  });

const volumeGoes = (world: AwsWorld, finalizer = 'kubernetes.io/pv-protection'): void =>
  edit(world, 'persistentvolumes', [VOLUME], ({ metadata }) => {
    metadata.finalizers = [finalizer];
    metadata.deletionTimestamp = at(world, -300_000);
  });

/** An hour after a cluster of two Nodes with a claim that nobody uses. */
const later = (change: (world: AwsWorld) => void): AwsWorld => {
  const { world } = twoNodes();
  world.advance(600_000);
  change(world);
  return world;
};

const kindsIn = async (world: AwsWorld, target?: string) => {
  const { findings, text } = await diagnoseSandbox(world, target);
  return { kinds: findings.map(({ cause, pod }) => [cause.kind, pod]), text, findings };
};

describe('a claim that no pod uses', () => {
  it.each<readonly [string, string, (world: AwsWorld) => void]>([
    [
      'provisioning-refused',
      'UnauthorizedOperation',
      (world) => {
        setClaimPending(world, 'app-data', null);
        addClaimEvent(world, 'ProvisioningFailed', 'failed to provision volume: UnauthorizedOperation');
      },
    ],
    [
      'no-provisioner',
      'does not answer',
      (world) => {
        setClaimPending(world, 'app-data', null);
        addClaimEvent(world, 'ExternalProvisioning', 'Waiting for a volume to be created by ebs.csi.aws.com');
      },
    ],
    ['no-volume', 'has no PersistentVolume', (world) => setClaimPending(world, 'app-data', null)],
    [
      'claim-lost',
      'has lost',
      (world) => edit(world, 'persistentvolumeclaims', CLAIM, (claim) => void (claim.status = { phase: 'Lost' })),
    ],
    ['claim-going', 'deletion was requested 5m', claimGoes],
    ['volume-going', 'is bound to it', volumeGoes],
  ])('%s: %s', async (kind, words, change) => {
    const world = later(change);
    for (const target of [undefined, 'pvc/default/app-data', `pv/${VOLUME}`]) {
      if (target?.startsWith('pv/') && kind !== 'volume-going' && kind !== 'claim-going') continue;
      const { kinds, text } = await kindsIn(world, target);
      expect(kinds, text).toEqual([[kind, null]]);
      expect(text).toContain(words);
    }
  });

  it('is kept by a pod that has ended, and the answer names the pod', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    settle(world);
    edit(world, 'pods', ['app', 'default'], ({ status }) => void (status.phase = 'Succeeded'));
    world.advance(600_000);
    claimGoes(world);
    const { findings, text } = await kindsIn(world, 'pvc/default/app-data');
    expect(findings[0]?.cause, text).toMatchObject({
      kind: 'claim-going',
      next: [
        expect.stringMatching(/^kubectl patch pv .*Retain.*first/),
        'kubectl -n default delete pod app',
        expect.stringContaining(`spec.volumeName: ${VOLUME}`),
      ],
    });
  });

  it('waits for its first pod, which is no fault: only a question about it shows that', async () => {
    const world = later((one) => {
      setClaimPending(one, 'app-data', null);
      addClaimEvent(one, 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
    });
    expect((await kindsIn(world)).kinds).toEqual([]);
    const { findings } = await kindsIn(world, 'pvc/default/app-data');
    expect(findings[0]?.cause).toMatchObject({ kind: 'waits-for-consumer', ending: 'over' });
  });

  it('is no fault, and a new one may still wait for its pod', async () => {
    expect(
      (
        await kindsIn(
          later(() => undefined),
          'pvc/default/app-data',
        )
      ).kinds,
    ).toEqual([['not-waiting', null]]);
    const { world } = twoNodes();
    setClaimPending(world, 'app-data', null);
    expect((await kindsIn(world)).kinds).toEqual([]);
  });
});

describe('a volume that is being deleted', () => {
  it('is still attached, and the answer names where', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    settle(world);
    edit(world, 'pods', ['app', 'default'], ({ status }) => void (status.phase = 'Succeeded'));
    edit(world, 'persistentvolumes', [VOLUME], ({ spec }) => void delete spec.claimRef);
    volumeGoes(world, 'external-attacher/ebs-csi-aws-com');
    const { findings, text } = await kindsIn(world, `pv/${VOLUME}`);
    expect(findings[0]?.cause.says, text).toContain(`it is still attached to ${node}`);
  });

  it('has a disk that its driver cannot delete', async () => {
    const world = later((one) => {
      volumeGoes(one, 'external-provisioner.volume.kubernetes.io/finalizer');
      addEvent(
        one,
        { kind: 'PersistentVolume', name: VOLUME, uid: uidOf(one) },
        'VolumeFailedDelete',
        'DependencyViolation',
      );
    });
    expect((await kindsIn(world)).text).toContain('its driver cannot delete the disk: DependencyViolation');
  });
});

const uidOf = (world: AwsWorld): string =>
  world.parts.cluster.objects.persistentvolumes[`/${VOLUME}`]?.metadata.uid ?? '';
