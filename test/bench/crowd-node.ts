import type { NodeObject } from '../../sandbox/cluster/objects.ts';
import type { Draft } from '../../sandbox/cluster/store.ts';
import { bootIdOf } from '../../sandbox/cluster/controllers/nodes.ts';
import { timestamp } from '../../sandbox/cluster/controllers/times.ts';
import { EBS } from '../../sandbox/aws-sandbox.ts';
import type { CrowdNode } from './crowd.ts';

/**
 * A Node as EKS shows it, with about 7 kB of JSON. Most of that is the list of images, as on any Node that has been up
 * for a day.
 */

const ZONE = 'eu-west-1b';
const IMAGES = 16;

const conditionsAt = (now: number) =>
  [
    {
      type: 'MemoryPressure',
      status: 'False',
      reason: 'KubeletHasSufficientMemory',
      message: 'kubelet has sufficient memory available',
    } as const,
    {
      type: 'DiskPressure',
      status: 'False',
      reason: 'KubeletHasNoDiskPressure',
      message: 'kubelet has no disk pressure',
    } as const,
    {
      type: 'PIDPressure',
      status: 'False',
      reason: 'KubeletHasSufficientPID',
      message: 'kubelet has sufficient PID available',
    } as const,
    { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' } as const,
  ].map((condition) => ({
    ...condition,
    lastHeartbeatTime: timestamp(now),
    lastTransitionTime: timestamp(now - 86_400_000),
  }));

const imagesOf = (ordinal: number) =>
  Array.from({ length: IMAGES }, (_, image) => {
    const repository = `602401143452.dkr.ecr.eu-west-1.amazonaws.com/platform/service-${image}`;
    const digest = bootIdOf(repository, String(ordinal)).replaceAll('-', '').repeat(2);
    return {
      names: [`${repository}@sha256:${digest}`, `${repository}:v1.${image}.${ordinal % 10}`],
      sizeBytes: 40_000_000 + image * 1_234_567,
    };
  });

const labelsOf = (name: string) => ({
  'beta.kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/instance-type': 'm6i.2xlarge',
  'beta.kubernetes.io/os': 'linux',
  'eks.amazonaws.com/capacityType': 'ON_DEMAND',
  'eks.amazonaws.com/nodegroup': 'workers',
  'eks.amazonaws.com/nodegroup-image': 'ami-0123456789abcdef0',
  'failure-domain.beta.kubernetes.io/region': 'eu-west-1',
  'failure-domain.beta.kubernetes.io/zone': ZONE,
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/hostname': name,
  'kubernetes.io/os': 'linux',
  'node.kubernetes.io/instance-type': 'm6i.2xlarge',
  'topology.ebs.csi.aws.com/zone': ZONE,
  'topology.kubernetes.io/region': 'eu-west-1',
  'topology.kubernetes.io/zone': ZONE,
});

const resources = {
  cpu: '8',
  'ephemeral-storage': '83873772Ki',
  'hugepages-1Gi': '0',
  'hugepages-2Mi': '0',
  memory: '32408544Ki',
  pods: '58',
};

const statusOf = ({ name, machine, ordinal, volumes }: CrowdNode, now: number): NodeObject['status'] => {
  const attached = volumes.map((handle) => `kubernetes.io/csi/${EBS}^${handle}`);
  const status = {
    addresses: [
      { type: 'InternalIP', address: '10.100.0.1' },
      { type: 'InternalDNS', address: name },
      { type: 'Hostname', address: name },
    ],
    allocatable: resources,
    capacity: resources,
    conditions: conditionsAt(now),
    daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
    images: imagesOf(ordinal),
    nodeInfo: {
      architecture: 'amd64',
      bootID: bootIdOf(machine, '1'),
      containerRuntimeVersion: 'containerd://2.1.4',
      kernelVersion: '6.12.37-61.105.amzn2023.x86_64',
      kubeletVersion: 'v1.36.3',
      machineID: bootIdOf(machine, 'machine').replaceAll('-', ''),
      operatingSystem: 'linux',
      osImage: 'Amazon Linux 2023.8.20250721',
      systemUUID: bootIdOf(machine, 'system'),
    },
    volumesAttached: attached.map((unique) => ({ name: unique, devicePath: '' })),
    volumesInUse: attached,
  };
  return status;
};

export const nodeOfCrowd = (bystander: CrowdNode, now: number): Draft<NodeObject> => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: bystander.name,
    labels: labelsOf(bystander.name),
    annotations: {
      'csi.volume.kubernetes.io/nodeid': JSON.stringify({ [EBS]: bystander.machine }),
      'node.alpha.kubernetes.io/ttl': '0',
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
    },
  },
  spec: { providerID: `aws:///${ZONE}/${bystander.machine}` },
  status: statusOf(bystander, now),
});
