import { awsCloud } from '../../../providers/aws/index.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { openEc2Server } from '../../../sandbox/ec2/ec2-server.ts';
import { defaultStop, start, stopByUser, terminate } from '../../../sandbox/ec2/instances.ts';
import { addInstance, addVolume } from '../../../sandbox/ec2/scenario.ts';
import type { Ec2World, Instance } from '../../../sandbox/ec2/state.ts';
import { instanceIn, volumeIn } from '../../../sandbox/ec2/state.ts';
import { MINUTE, credentials, ec2World, region } from '../../sandbox/ec2/ec2-world.ts';
import type { ProviderHarness } from './harness.ts';
import { ebsAttachedTo, ebsVolume, ec2Endings, ec2ProviderId } from './ec2-names.ts';
import { sandboxEc2Table } from './sandbox-ec2-table.ts';

/** EC2 of the sandbox over HTTP, with the unmodified SDK. */
export const sandboxEc2Harness = async (): Promise<ProviderHarness> => {
  const world = ec2World();
  const ec2Server = await openEc2Server(world);
  const change = async (id: string, apply: (world: Ec2World, instance: Instance) => unknown): Promise<void> => {
    const instance = instanceIn(world, id);
    if (instance) apply(world, instance);
    world.advance(MINUTE);
  };
  return {
    cloud: awsCloud({ clients: ec2Clients({ region, credentials, endpoint: ec2Server.url }), region }),
    unknownMachine: 'i-0fffffffffffffff1',
    unknownDisk: 'vol-0fffffffffffffff1',
    machine: async () => addInstance(world),
    stop: (id) => change(id, (_, instance) => stopByUser(world, instance, defaultStop)),
    start: (id) => change(id, start),
    terminate: (id) => change(id, terminate),
    ...ec2Endings,
    proofTable: sandboxEc2Table(world),
    disk: async (id) => addVolume(world, {}, id === null ? undefined : { instance: id }),
    holderOf: async (disk) => volumeIn(world, disk)?.attachments[0]?.instance ?? null,
    settle: async () => world.advance(MINUTE),
    identitySourceOf: (id) => ec2ProviderId(`${region}a`, id),
    attachedAs: ebsAttachedTo,
    volumeOf: ebsVolume,
    close: ec2Server.close,
  };
};
