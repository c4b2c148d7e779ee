import { DescribeInstancesCommand, StartInstancesCommand, StopInstancesCommand, TerminateInstancesCommand } from '@aws-sdk/client-ec2';
import type { Bench } from './bench.ts';
import type { Kubelet } from './kubelet.ts';

/** An instance with its kubelet: what happens to the one happens to the other. */
export interface BenchNode {
  readonly name: string;
  readonly instance: string;
  readonly kubelet: Kubelet;
  readonly stop: () => Promise<void>;
  readonly terminate: () => Promise<void>;
  /** Starts the instance. Its kubelet comes up under a new boot ID, or under the one that is given. */
  readonly start: (bootID?: string) => Promise<void>;
}

/** A running instance that has joined the cluster. Pods that ask for `zone` come to it and to no other scenario's nodes. */
export const addMachine = async ({ ec2, kubelets }: Bench, zone: string): Promise<BenchNode> => {
  const instance = await ec2.machine();
  const { Reservations } = await ec2.client.send(new DescribeInstancesCommand({ InstanceIds: [instance] }));
  const { PrivateDnsName: name = '', PrivateIpAddress: address = '', Placement } = Reservations?.[0]?.Instances?.[0] ?? {};
  const labels = { 'topology.kubernetes.io/zone': zone };
  const kubelet = await kubelets.join({ name, instance, address, zone: Placement?.AvailabilityZone ?? '', labels });
  const named = { InstanceIds: [instance] };
  return {
    name,
    instance,
    kubelet,
    stop: async () => {
      kubelet.die();
      await ec2.client.send(new StopInstancesCommand(named));
    },
    terminate: async () => {
      kubelet.die();
      await ec2.client.send(new TerminateInstancesCommand(named));
    },
    start: async (bootID) => {
      await ec2.client.send(new StartInstancesCommand(named));
      await kubelet.boot(bootID);
    },
  };
};
