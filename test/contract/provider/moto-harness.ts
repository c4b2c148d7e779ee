import {
  AttachVolumeCommand,
  CreateVolumeCommand,
  DescribeImagesCommand,
  DescribeVolumesCommand,
  EC2Client,
  RunInstancesCommand,
  type RunInstancesCommandInput,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { awsCloud } from '../../../providers/aws/index.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import type { ProviderHarness } from './harness.ts';
import { ebsAttachedTo, ebsVolume, ec2Endings, ec2ProviderId } from './ec2-names.ts';
import { startMoto } from './moto-server.ts';
import { openStrictProxy } from './strict-proxy.ts';

const region = 'us-east-1';
const zone = 'us-east-1a';
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

/** Access to moto's EC2. */
export interface MotoControl {
  readonly client: EC2Client;
  /** A new instance that runs, created with the options in `more`. */
  readonly machine: (more?: Partial<RunInstancesCommandInput>) => Promise<string>;
  readonly disk: (machine: string | null, device?: string) => Promise<string>;
  readonly holderOf: (disk: string) => Promise<string | null>;
}

export const motoControl = async (endpoint: string): Promise<MotoControl> => {
  const client = new EC2Client({ endpoint, region, credentials });
  const { Images } = await client.send(new DescribeImagesCommand({ Owners: ['amazon'] }));
  const ImageId = Images?.[0]?.ImageId;
  return {
    client,
    machine: async (more = {}) => {
      // Moto's own default is a type with an instance store.
      const type = { ImageId, InstanceType: 'm6i.large' } as const;
      const input = { ...type, MinCount: 1, MaxCount: 1, Placement: { AvailabilityZone: zone }, ...more };
      const run = await client.send(new RunInstancesCommand(input));
      return run.Instances?.[0]?.InstanceId ?? '';
    },
    disk: async (machine, device = '/dev/sdf') => {
      const { VolumeId = '' } = await client.send(new CreateVolumeCommand({ AvailabilityZone: zone, Size: 1 }));
      if (machine !== null)
        await client.send(new AttachVolumeCommand({ VolumeId, InstanceId: machine, Device: device }));
      return VolumeId;
    },
    holderOf: async (disk) => {
      const { Volumes } = await client.send(new DescribeVolumesCommand({ VolumeIds: [disk] }));
      return Volumes?.[0]?.Attachments?.[0]?.InstanceId ?? null;
    },
  };
};

/** Moto behind the strict proxy, with the unmodified SDK. Changes in moto complete at once. */
export const motoHarness = async (): Promise<ProviderHarness> => {
  const moto = await startMoto();
  const proxy = await openStrictProxy(moto.url, region);
  const { client, machine, disk, holderOf } = await motoControl(proxy.url);
  return {
    cloud: awsCloud({ clients: ec2Clients({ region, credentials, endpoint: proxy.url }), region }),
    unknownMachine: 'i-0fffffffffffffff1',
    unknownDisk: 'vol-0fffffffffffffff1',
    machine: () => machine(),
    stop: async (id) => void (await client.send(new StopInstancesCommand({ InstanceIds: [id] }))),
    start: async (id) => void (await client.send(new StartInstancesCommand({ InstanceIds: [id] }))),
    terminate: async (id) => void (await client.send(new TerminateInstancesCommand({ InstanceIds: [id] }))),
    ...ec2Endings,
    proofTable: [{ state: 'running', power: 'running', machine: () => machine() }],
    disk,
    holderOf,
    settle: async () => undefined,
    identitySourceOf: (id) => ec2ProviderId(zone, id),
    attachedAs: ebsAttachedTo,
    volumeOf: ebsVolume,
    close: async () => {
      await proxy.close();
      await moto.close();
    },
  };
};
