import { listParameter } from '../params.ts';
import type { Ec2World } from '../state.ts';
import { instanceIn, volumeIn } from '../state.ts';
import type { AccessRequest } from './evaluate.ts';

type Tags = Readonly<Record<string, string>>;

/** An object that does not exist has no tags. */
const tagContext = (tags: Tags = {}): AccessRequest['context'] =>
  Object.fromEntries(
    Object.entries(tags).flatMap(([key, value]) => [
      [`aws:ResourceTag/${key}`, value],
      [`ec2:ResourceTag/${key}`, value],
    ]),
  );

/**
 * Returns all permissions that one call needs. EC2 checks each resource separately: a detach that names the instance
 * needs the permission for the instance and for the volume.
 * https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
 */
export const requiredPermissions = (world: Ec2World, params: URLSearchParams): readonly AccessRequest[] => {
  const { account, region } = world.parts.ec2;
  const name = params.get('Action') ?? '';
  const on = (kind: string, id: string, tags: Tags | undefined): AccessRequest => ({
    action: `ec2:${name}`,
    resource: `arn:aws:ec2:${region}:${account}:${kind}/${id}`,
    context: tagContext(tags),
  });
  const onInstance = (id: string) => on('instance', id, instanceIn(world, id)?.tags);
  const onVolume = (id: string) => on('volume', id, volumeIn(world, id)?.tags);
  if (name.startsWith('Describe')) return [{ action: `ec2:${name}`, resource: '*', context: {} }];
  return [...named(params, 'VolumeId').map(onVolume), ...named(params, 'InstanceId').map(onInstance)];
};

const named = (params: URLSearchParams, name: string): readonly string[] => {
  const one = params.get(name);
  return one === null ? listParameter(params, name) : [one];
};
