import {
  DescribeInstancesCommand,
  DescribeVolumesCommand,
  type EC2Client,
  type Instance,
  type Volume,
} from '@aws-sdk/client-ec2';

/** Calls that EC2 rejects and moto would accept. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

export const instanceIds = (params: URLSearchParams): readonly string[] =>
  [...params].filter(([name]) => /^InstanceId(\.\d+)?$/.test(name)).map(([, value]) => value);

export const refusalOf = async (client: EC2Client, params: URLSearchParams): Promise<Refusal | null> => {
  const malformed = instanceIds(params).find((id) => !/^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$/.test(id));
  if (malformed !== undefined) return { code: 'InvalidInstanceID.Malformed', message: `Invalid id: "${malformed}"` };
  switch (params.get('Action')) {
    case 'AttachVolume':
      return attachRefusal(client, params);
    case 'DetachVolume':
      return detachRefusal(client, params);
    case null:
    default:
      return null;
  }
};

/**
 * A stopped instance accepts a volume, and a terminated instance does not.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
 */
const attachRefusal = async (client: EC2Client, params: URLSearchParams): Promise<Refusal | null> => {
  const volume = await describedVolume(client, params);
  const instance = await describedInstance(client, params.get('InstanceId'));
  if (volume?.Attachments?.[0]) return { code: 'VolumeInUse', message: 'the volume is attached already' };
  if (!volume || !instance) return null;
  const state = instance.State?.Name;
  if (state !== 'running' && state !== 'stopped')
    return { code: 'IncorrectState', message: `the instance is '${state}'` };
  const elsewhere = volume.AvailabilityZone !== instance.Placement?.AvailabilityZone;
  return elsewhere
    ? { code: 'InvalidVolume.ZoneMismatch', message: 'the volume is not in the zone of the instance' }
    : null;
};

const detachRefusal = async (client: EC2Client, params: URLSearchParams): Promise<Refusal | null> => {
  const volume = await describedVolume(client, params);
  if (!volume) return null;
  const holder = volume.Attachments?.[0];
  if (!holder) return { code: 'IncorrectState', message: "the volume is in the 'available' state" };
  const asked = params.get('InstanceId') ?? holder.InstanceId;
  if (asked !== holder.InstanceId)
    return { code: 'InvalidAttachment.NotFound', message: 'the volume is not attached to that instance' };
  const instance = await describedInstance(client, String(asked));
  const root = instance?.State?.Name === 'running' && instance.RootDeviceName === holder.Device;
  return root ? { code: 'OperationNotPermitted', message: 'this is the root volume of a running instance' } : null;
};

const describedVolume = async (client: EC2Client, params: URLSearchParams): Promise<Volume | undefined> => {
  const Filters = [{ Name: 'volume-id', Values: [params.get('VolumeId') ?? ''] }];
  return (await client.send(new DescribeVolumesCommand({ Filters }))).Volumes?.[0];
};

const describedInstance = async (client: EC2Client, id: string | null): Promise<Instance | undefined> => {
  const Filters = [{ Name: 'instance-id', Values: [id ?? ''] }];
  return (await client.send(new DescribeInstancesCommand({ Filters }))).Reservations?.[0]?.Instances?.[0];
};
