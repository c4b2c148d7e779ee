import { recordUnsafeAttach, recordUnsafeDetach } from './invariants.ts';
import { write } from '../history.ts';
import { Ec2Refusal } from './refusal.ts';
import type { Attachment, Ec2World, Instance, Volume } from './state.ts';
import { attachmentTo, instanceIn, volumeIn } from './state.ts';

/**
 * Attaches and detaches disks: https://docs.aws.amazon.com/ebs/latest/userguide/ebs-detaching-volume.html
 */

export const SETTLE_ATTACHMENT = 'ec2.settle-attachment';

const appointment = (volume: string, instance: string): string => `${volume} ${instance}`;

export const settleAppointed = (world: Ec2World, about: string): void => {
  const [volume = '', instance = ''] = about.split(' ');
  settleAttachment(world, volume, instance);
};

/** @throws Ec2Refusal VolumeInUse, InvalidVolume.ZoneMismatch, IncorrectState */
export const attach = (world: Ec2World, volume: Volume, instance: Instance, device: string): Attachment => {
  mayAttach(volume, instance);
  const attachment: Attachment = {
    instance: instance.id,
    device,
    state: 'attaching',
    at: world.now(),
    deleteOnTermination: false,
    forced: false,
  };
  write(
    world.parts.ec2.volumes,
    volume.id,
    { ...volume, attachments: [...volume.attachments, attachment] },
    world.now(),
  );
  if (!volume.multiAttach) recordUnsafeAttach(world, volume.id, instance.id);
  world.schedule(SETTLE_ATTACHMENT, world.parts.ec2.knobs.attachTakes, appointment(volume.id, instance.id));
  return attachment;
};

const mayAttach = (volume: Volume, instance: Instance): void => {
  const taken = volume.multiAttach ? attachmentTo(volume, instance.id) : volume.attachments[0];
  if (taken) throw new Ec2Refusal('VolumeInUse', `${volume.id} is already attached to an instance`);
  if (volume.zone !== instance.zone) {
    throw new Ec2Refusal(
      'InvalidVolume.ZoneMismatch',
      `The volume '${volume.id}' is not in the same availability zone as instance '${instance.id}'`,
    );
  }
  if (instance.state !== 'running' && instance.state !== 'stopped') {
    throw new Ec2Refusal('IncorrectState', `Instance '${instance.id}' is not 'running'.`);
  }
};

/** @throws Ec2Refusal OperationNotPermitted, UnsupportedOperation */
export const detach = (world: Ec2World, volume: Volume, instance: Instance, force: boolean): Attachment => {
  const attachment = mayDetach(volume, instance);
  const detaching: Attachment = {
    ...attachment,
    state: attachment.state === 'busy' && !force ? 'busy' : 'detaching',
    forced: attachment.forced || force,
  };
  replace(world, volume, detaching);
  if (detaching.state === 'detaching') {
    world.schedule(SETTLE_ATTACHMENT, world.parts.ec2.knobs.detachTakes, appointment(volume.id, instance.id));
  }
  return detaching;
};

const mayDetach = (volume: Volume, instance: Instance): Attachment => {
  const attachment = attachmentTo(volume, instance.id);
  if (!attachment) {
    throw new Ec2Refusal(
      'InvalidAttachment.NotFound',
      `The volume '${volume.id}' is not attached to instance '${instance.id}'.`,
    );
  }
  if (instance.managed || volume.managed) {
    throw new Ec2Refusal('UnsupportedOperation', `The volume '${volume.id}' is attached to a managed resource.`);
  }
  if (attachment.device === instance.rootDevice && instance.state !== 'stopped') {
    throw new Ec2Refusal(
      'OperationNotPermitted',
      `Unable to detach root volume '${volume.id}' from instance '${instance.id}'`,
    );
  }
  return attachment;
};

/** Completes an attach, or a detach if the guest has released the disk. */
export const settleAttachment = (world: Ec2World, volumeId: string, instanceId: string): void => {
  const volume = volumeIn(world, volumeId);
  const attachment = volume && attachmentTo(volume, instanceId);
  if (!volume || !attachment || attachment.state === 'attached') return;
  if (attachment.state === 'attaching') return replace(world, volume, { ...attachment, state: 'attached' });
  const instance = instanceIn(world, instanceId);
  const held = instance?.guest === 'up' && instance.mounts.includes(volumeId);
  if (held && !attachment.forced) return replace(world, volume, { ...attachment, state: 'busy' });
  const attachments = volume.attachments.filter((other) => other.instance !== instanceId);
  write(world.parts.ec2.volumes, volumeId, { ...volume, attachments }, world.now());
  if (instance) recordUnsafeDetach(world, volumeId, instance);
};

const replace = (world: Ec2World, volume: Volume, attachment: Attachment): void => {
  const attachments = volume.attachments.map((other) => (other.instance === attachment.instance ? attachment : other));
  write(world.parts.ec2.volumes, volume.id, { ...volume, attachments }, world.now());
};
