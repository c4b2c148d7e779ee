import { randomUUID } from 'node:crypto';

/** The machine of a kubelet, as its Node shows it. */
export interface Machine {
  readonly name: string;
  readonly instance: string;
  /** The zone of the instance, for its providerID. */
  readonly zone: string;
  readonly address: string;
  /** More of the labels that a kubelet may set. A `topology.kubernetes.io/zone` among them overrides `zone`. */
  readonly labels: Readonly<Record<string, string>>;
  /** The taints with which a new Node registers. */
  readonly taints?: readonly { readonly key: string; readonly value: string; readonly effect: string }[];
}

export const DRIVER = 'ebs.csi.aws.com';

export const newBoot = (): string => randomUUID();

const CAPACITY = { cpu: '16', memory: '64Gi', pods: '250', 'ephemeral-storage': '100Gi' };

const stamp = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

const HEALTHY = [
  {
    type: 'MemoryPressure',
    status: 'False',
    reason: 'KubeletHasSufficientMemory',
    message: 'kubelet has sufficient memory available',
  },
  {
    type: 'DiskPressure',
    status: 'False',
    reason: 'KubeletHasNoDiskPressure',
    message: 'kubelet has no disk pressure',
  },
  {
    type: 'PIDPressure',
    status: 'False',
    reason: 'KubeletHasSufficientPID',
    message: 'kubelet has sufficient PID available',
  },
  { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
];

/** What a kubelet reports every five minutes if nothing has changed. */
export const heartbeat = () => ({
  conditions: HEALTHY.map((condition) => ({ ...condition, lastHeartbeatTime: stamp() })),
});

const firstConditions = () =>
  HEALTHY.map((condition) => ({ ...condition, lastHeartbeatTime: stamp(), lastTransitionTime: stamp() }));

const nodeInfo = (bootID: string, { instance }: Machine) => ({
  bootID,
  machineID: instance.padEnd(32, '0'),
  systemUUID: `ec2${instance}`,
  kernelVersion: '6.1.0',
  osImage: 'bench',
  containerRuntimeVersion: 'containerd://2.1.0',
  kubeletVersion: 'v1.36.3',
  kubeProxyVersion: '',
  operatingSystem: 'linux',
  architecture: 'amd64',
});

export const statusOf = (machine: Machine, bootID: string) => ({
  capacity: CAPACITY,
  allocatable: CAPACITY,
  addresses: [
    { type: 'InternalIP', address: machine.address },
    { type: 'Hostname', address: machine.name },
  ],
  nodeInfo: nodeInfo(bootID, machine),
  conditions: firstConditions(),
});

export const nodeOf = (machine: Machine, bootID: string) => ({
  metadata: {
    name: machine.name,
    labels: {
      'kubernetes.io/hostname': machine.name,
      'kubernetes.io/os': 'linux',
      'topology.kubernetes.io/zone': machine.zone,
      ...machine.labels,
    },
    annotations: {
      'csi.volume.kubernetes.io/nodeid': JSON.stringify({ [DRIVER]: machine.instance }),
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
    },
  },
  spec: { providerID: `aws:///${machine.zone}/${machine.instance}`, ...(machine.taints && { taints: machine.taints }) },
  status: statusOf(machine, bootID),
});

const ownedBy = (name: string, uid: string) => [{ apiVersion: 'v1', kind: 'Node', name, uid }];

/**
 * A kubelet says which of the in-tree plugins its drivers replace. Older controller managers attach such a volume only
 * if it does (seen on 1.30).
 */
const MIGRATED = { 'storage.alpha.kubernetes.io/migrated-plugins': 'kubernetes.io/aws-ebs' } as const;

export const csiNodeOf = ({ name, instance }: Machine, uid: string) => ({
  metadata: { name, annotations: MIGRATED, ownerReferences: ownedBy(name, uid) },
  spec: {
    drivers: [
      { name: DRIVER, nodeID: instance, topologyKeys: ['topology.kubernetes.io/zone'], allocatable: { count: 25 } },
    ],
  },
});

export const renewal = () => ({ renewTime: new Date().toISOString().replace('Z', '000Z') });

export const leaseOf = ({ name }: Machine, uid: string) => ({
  metadata: { name, ownerReferences: ownedBy(name, uid) },
  spec: { holderIdentity: name, leaseDurationSeconds: 40, ...renewal() },
});
