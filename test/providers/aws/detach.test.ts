import { describe, expect, it } from 'vitest';
import { PermissionDenied, ProofExpired, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { addFault, throttled } from '../../../sandbox/ec2/faults.ts';
import type { InjectedFailure } from '../../../sandbox/ec2/faults.ts';
import { inProcessHandler } from '../../../sandbox/ec2/in-process-handler.ts';
import { addInstance, addVolume } from '../../../sandbox/ec2/scenario.ts';
import type { Ec2World, Instance } from '../../../sandbox/ec2/state.ts';
import { instanceIn, volumeIn } from '../../../sandbox/ec2/state.ts';
import { MINUTE, cloudOf, credentials, ec2World, patient, region } from '../../sandbox/ec2/ec2-world.ts';
import { granted, grantedUntil } from '../../permits.ts';

const target = (machine: string) => ({ machine, incarnation: null });

const withDisk = (wanted: Partial<Instance> = { state: 'stopped' }) => {
  const world = ec2World();
  const machine = addInstance(world, wanted);
  return { world, machine, disk: addVolume(world, {}, { instance: machine }) };
};

const held = (world: Ec2World, disk: string): boolean => {
  world.advance(MINUTE);
  return (volumeIn(world, disk)?.attachments.length ?? 0) > 0;
};

describe('a detach', () => {
  it.each([
    [throttled, Unavailable],
    [{ kind: 'error', code: 'UnauthorizedOperation', status: 403 }, PermissionDenied],
    [{ kind: 'error', code: 'OperationNotPermitted', status: 400 }, Refused],
    [{ kind: 'drop' }, Unavailable],
  ] satisfies [InjectedFailure, unknown][])(
    'is sent at most once: the SDK does not repeat it (%o)',
    async (mishap, expected) => {
      const { world, machine, disk } = withDisk();
      addFault(world.parts.ec2, { action: 'DetachVolume', mishap });
      const failed = cloudOf(world).detach(target(machine), disk, 'plain', granted, patient());
      await expect(failed).rejects.toBeInstanceOf(expected);
      await expect(failed).rejects.toThrow(/^ec2:DetachVolume /);
      expect(held(world, disk)).toBe(true);
    },
  );

  it('fails if its answer was lost, although the disk is being detached', async () => {
    const { world, machine, disk } = withDisk();
    addFault(world.parts.ec2, { action: 'DetachVolume', when: 'after', mishap: { kind: 'drop' } });
    await expect(cloudOf(world).detach(target(machine), disk, 'plain', granted, patient())).rejects.toBeInstanceOf(
      Unavailable,
    );
    expect(held(world, disk)).toBe(false);
  });

  it.each([
    ['plain', false],
    ['forced', true],
  ] as const)('is forced only in the forced mode: %s', async (mode, forced) => {
    const { world, machine, disk } = withDisk();
    await cloudOf(world).detach(target(machine), disk, mode, granted, patient());
    expect(volumeIn(world, disk)?.attachments).toMatchObject([{ instance: machine, forced }]);
  });

  it('is not sent if signing took longer than the proof lasts', async () => {
    const { world, machine, disk } = withDisk();
    let monotonic = 0;
    const slowly = async () => {
      monotonic += 2_001;
      return credentials;
    };
    const clients = ec2Clients({ region, credentials: slowly, requestHandler: inProcessHandler(world) });
    const permit = grantedUntil(2_000, () => monotonic);
    permit.check();
    await expect(
      cloudOf(world, clients).detach(target(machine), disk, 'plain', permit, patient()),
    ).rejects.toBeInstanceOf(ProofExpired);
    expect(held(world, disk)).toBe(true);
  });

  it.each(['IncorrectState', 'InvalidAttachment.NotFound', 'InvalidVolume.NotFound'])(
    'does not count %s as done while the disk still names the machine',
    async (code) => {
      const { world, machine, disk } = withDisk();
      addFault(world.parts.ec2, { action: 'DetachVolume', mishap: { kind: 'error', code, status: 400 } });
      const failed = cloudOf(world).detach(target(machine), disk, 'plain', granted, patient());
      await expect(failed).rejects.toBeInstanceOf(Refused);
      await expect(failed).rejects.toMatchObject({
        message: `EC2 rejected ec2:DetachVolume, and ${disk} is still attached to ${machine}`,
        cause: { name: code },
      });
      expect(held(world, disk)).toBe(true);
    },
  );

  it('does not succeed if the disk cannot be read again', async () => {
    const { world, machine } = withDisk();
    const free = addVolume(world);
    addFault(world.parts.ec2, {
      action: 'DescribeVolumes',
      mishap: { kind: 'error', code: 'UnauthorizedOperation', status: 403 },
    });
    await expect(cloudOf(world).detach(target(machine), free, 'plain', granted, patient())).rejects.toBeInstanceOf(
      PermissionDenied,
    );
  });

  it('is refused for a machine that AWS manages', async () => {
    const { world, machine, disk } = withDisk({ state: 'stopped', managed: true });
    await expect(cloudOf(world).detach(target(machine), disk, 'forced', granted, patient())).rejects.toBeInstanceOf(
      Refused,
    );
    expect(held(world, disk)).toBe(true);
  });
});

describe('a power-off', () => {
  it('stops a machine whose operating system never shuts down', async () => {
    const { world, machine } = withDisk({ shutdownTakes: null });
    await cloudOf(world).powerOff(target(machine), granted, patient());
    world.advance(MINUTE);
    expect(instanceIn(world, machine)?.state).toBe('stopped');
  });

  it('is refused for a machine that is terminated', async () => {
    const { world, machine } = withDisk({ state: 'terminated' });
    const refused = cloudOf(world).powerOff(target(machine), granted, patient());
    await expect(refused).rejects.toBeInstanceOf(Refused);
    await expect(refused).rejects.toThrow(/^ec2:StopInstances returned IncorrectInstanceState/);
  });
});

describe('a witness', () => {
  it('needs every disk to be found, and an error is no answer', async () => {
    const { world, machine, disk } = withDisk();
    const unknown = ['vol-fffffff1', 'vol-fffffff2', 'vol-fffffffff'];
    expect(await cloudOf(world).witness(machine, [...unknown, disk], patient())).toBe('held');
    expect(await cloudOf(world).witness('i-ffffffff', [...unknown, disk], patient())).toBe('none');
    expect(await cloudOf(world).witness('i-ffffffff', [disk], patient())).toBe('released');
    expect(await cloudOf(world).witness('i-ffffffff', unknown, patient())).toBe('none');
    addFault(world.parts.ec2, {
      action: 'DescribeVolumes',
      mishap: { kind: 'error', code: 'AuthFailure', status: 401 },
    });
    await expect(cloudOf(world).witness(machine, [disk], patient())).rejects.toBeInstanceOf(PermissionDenied);
  });
});
