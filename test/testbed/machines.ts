import {
  DescribeInstancesCommand,
  type Instance,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import type { Testbed } from './testbed.ts';
import type { Kubelet } from '../control-plane/kubelet/kubelet.ts';
import type { Machine } from '../control-plane/kubelet/kubelet-node.ts';

/** An instance with its kubelet. What happens to one also happens to the other. */
export interface TestbedNode {
  readonly name: string;
  readonly instance: string;
  readonly kubelet: Kubelet;
  /** Of the instance, according to EC2. */
  readonly state: () => Promise<string>;
  readonly stop: () => Promise<void>;
  /** Its memory is saved to the disk, and would write again after a start. */
  readonly hibernate: () => Promise<void>;
  readonly terminate: () => Promise<void>;
  /** Starts the instance. Its kubelet is not up yet. */
  readonly power: () => Promise<void>;
  /** Starts the instance. Its kubelet starts with a new boot ID, or with the given one. */
  readonly start: (bootID?: string) => Promise<void>;
}

/** Each instance could hibernate, so that a plain shutdown has to be distinguished everywhere. */
const ABLE_TO_HIBERNATE = { HibernationOptions: { Configured: true } };

/** How its Node registers, if not in the usual way. */
export interface Registration {
  /** In place of its DNS name. */
  readonly name?: string;
  readonly taints?: NonNullable<Machine['taints']>;
}

/**
 * A running instance that has joined the cluster. Pods that request `zone` are scheduled on it, and on no nodes of
 * other scenarios.
 */
export const addMachine = async (
  { ec2, kubelets }: Testbed,
  zone: string,
  registration: Registration = {},
): Promise<TestbedNode> => {
  const instance = await ec2.machine(ABLE_TO_HIBERNATE);
  const described = async (): Promise<Instance> => {
    const { Reservations } = await ec2.client.send(new DescribeInstancesCommand({ InstanceIds: [instance] }));
    return Reservations?.[0]?.Instances?.[0] ?? {};
  };
  const { PrivateDnsName: name = '', PrivateIpAddress: address = '', Placement } = await described();
  const labels = { 'topology.kubernetes.io/zone': zone };
  const kubelet = await kubelets.join({
    name,
    instance,
    address,
    zone: Placement?.AvailabilityZone ?? '',
    labels,
    ...registration,
  });
  const named = { InstanceIds: [instance] };
  const power = async (): Promise<void> => void (await ec2.client.send(new StartInstancesCommand(named)));
  return {
    name: kubelet.machine.name,
    instance,
    kubelet,
    state: async () => (await described()).State?.Name ?? 'none',
    stop: async () => {
      kubelet.die();
      await ec2.client.send(new StopInstancesCommand(named));
    },
    hibernate: async () => {
      kubelet.die();
      await ec2.client.send(new StopInstancesCommand({ ...named, Hibernate: true }));
    },
    terminate: async () => {
      kubelet.die();
      await ec2.client.send(new TerminateInstancesCommand(named));
    },
    power,
    start: async (bootID) => {
      await power();
      await kubelet.boot(bootID);
    },
  };
};
