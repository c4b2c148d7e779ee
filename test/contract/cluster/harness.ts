import type { Cluster, NodeQuery } from '../../../fencing/model/cluster.ts';
import { parseRecord, type FenceRecord } from '../../../fencing/model/record.ts';
import type { NodeTarget } from '../../../fencing/model/steps.ts';

export interface ApiResponse {
  readonly status: number;
  readonly body: { readonly metadata: Meta; readonly [field: string]: unknown };
}

export interface Meta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * An API server on which the contract runs: the cluster under test, and an administrator who prepares each case through
 * the same API.
 */
export interface ClusterHarness {
  readonly cluster: Cluster;
  readonly admin: (method: string, path: string, body?: unknown) => Promise<ApiResponse>;
  /** The clock of the API server, in epoch ms. */
  readonly now: () => number;
}

export const NODES = '/api/v1/nodes';
export const VOLUMES = '/api/v1/persistentvolumes';
export const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';
export const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
export const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
export const PODS = '/api/v1/namespaces/default/pods';
export const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
export const DRIVER = 'ebs.csi.aws.com';

let count = 0;
/** A name that no other case of this run uses. */
export const fresh = (kind: string): string => `${kind}-${(count += 1)}`;

export const made = async (harness: ClusterHarness, path: string, object: object): Promise<Meta> => {
  const { status, body } = await harness.admin('POST', path, object);
  if (status !== 201) throw new Error(`a test could not write ${path}: ${JSON.stringify(body)}`);
  return body.metadata;
};

/** The machine that an identity source names. In the cloud of this contract, ids begin with `i-`. */
const machineOf: NodeQuery['machineOf'] = ({ value }) => /(?:^|\/)(i-[0-9a-z-]+)$/.exec(value)?.[1] ?? null;

export const queryFor = (machine: string, ...nodeNames: string[]): NodeQuery => ({ machine, nodeNames, machineOf });

interface NodeTraits {
  readonly machine?: string;
  readonly name?: string;
  readonly metadata?: object;
  readonly spec?: { readonly taints?: readonly object[]; readonly [field: string]: unknown };
  readonly status?: object;
}

/**
 * A Node with a new name whose providerID names the machine. It has only the given taints: the taint that the API
 * server itself sets is gone once a Node is Ready.
 */
export const makeNode = async (
  harness: ClusterHarness,
  { machine = fresh('i'), name = fresh('node'), metadata = {}, spec = {}, status = {} }: NodeTraits = {},
): Promise<Meta> => {
  await made(harness, NODES, {
    metadata: { name, ...metadata },
    spec: { providerID: `aws:///eu-central-1a/${machine}`, ...spec },
    status: { nodeInfo: { bootID: 'boot-1' }, ...status },
  });
  const { body } = await harness.admin('PATCH', `${NODES}/${name}`, { spec: { taints: spec.taints ?? null } });
  return body.metadata;
};

export const makePod = (
  harness: ClusterHarness,
  nodeName: string,
  spec: object = {},
  metadata: object = {},
): Promise<Meta> =>
  made(harness, PODS, {
    metadata: { name: fresh('pod'), ...metadata },
    spec: { nodeName, containers: [{ name: 'main', image: 'pause' }], ...spec },
  });

/** A volume that is bound to a claim of the same name. */
export const makeVolume = async (harness: ClusterHarness, handle: string, name = fresh('data')): Promise<string> => {
  const size = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  await made(harness, VOLUMES, {
    metadata: { name },
    spec: {
      ...size,
      capacity: { storage: '1Gi' },
      csi: { driver: DRIVER, volumeHandle: handle },
      claimRef: { namespace: 'default', name },
    },
  });
  await made(harness, CLAIMS, {
    metadata: { name },
    spec: { ...size, volumeName: name, resources: { requests: { storage: '1Gi' } } },
  });
  return name;
};

export const usingClaim = (claimName: string) => ({
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
});

export const makeAttachment = (
  harness: ClusterHarness,
  name: string,
  nodeName: string,
  volume: string,
  machine?: string,
): Promise<Meta> =>
  made(harness, ATTACHMENTS, {
    metadata: { name, ...(machine !== undefined && { annotations: { 'csi.alpha.kubernetes.io/node-id': machine } }) },
    spec: { attacher: DRIVER, nodeName, source: { persistentVolumeName: volume } },
  });

export const recordFor = (node: Meta, machine: string, traits: Partial<FenceRecord> = {}): FenceRecord => ({
  version: 1,
  fence: 'fence-1',
  phase: 'fencing',
  cloud: 'test',
  machine,
  generation: null,
  node: node.name,
  nodeUid: node.uid,
  bootID: 'boot-1',
  lease: null,
  outOfService: 'ours',
  begun: '2026-11-21T10:00:00.000Z',
  released: null,
  renewed: null,
  vouched: null,
  evidence: { state: 'stopped' },
  volumes: [],
  pods: [],
  recurring: [],
  ...traits,
});

/** The Node as a run sees it without a fence, or with the fence of this record. */
export const targetOf = (node: Meta, recordText: string | null = null): NodeTarget => {
  const record = recordText === null ? null : recordFor(node, '', parseRecord(recordText) ?? {});
  return {
    name: node.name,
    uid: node.uid,
    bootID: 'boot-1',
    resourceVersion: node.resourceVersion,
    recordText,
    label: record && record.fence,
    unmatchedSeal: null,
    quarantined: record !== null,
  };
};

export const unhurried = (): AbortSignal => new AbortController().signal;
export { granted } from '../../permits.ts';
