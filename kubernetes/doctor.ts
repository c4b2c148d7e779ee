import { AuthorizationV1Api, CoreV1Api, VersionApi } from '@kubernetes/client-node/dist/gen/index.js';
import type { IdentitySource, VolumeHandle } from '../fencing/model/machine.ts';
import { type CallClock, type Connection, pages, type Reader, type Writer } from './connection.ts';
import type { Link } from './exchange.ts';
import { readLedger } from './ledger.ts';
import { LEASE_NAMESPACE, LEDGER, SETTINGS } from './names.ts';
import { nodeIdentitySources } from './node.ts';
import { csiHandleOf } from './volumes.ts';

export interface CheckedPermission extends NeededPermission {
  readonly allowed: boolean;
}

export interface NodeIdentity {
  readonly node: string;
  readonly identitySources: readonly IdentitySource[];
  /** Epoch ms. */
  readonly created: number;
}

/**
 * The checks that Cloudfence can make in a cluster before any fence. All methods throw `Unavailable` or
 * `PermissionDenied`.
 */
export interface Doctor {
  /** Returns true if nothing verifies the API server's certificate. */
  readonly unverified: () => boolean;
  readonly permissions: (signal: AbortSignal) => Promise<readonly CheckedPermission[]>;
  /** Checks the additional reads of `diagnose` in the same way. */
  readonly diagnosisPermissions: (signal: AbortSignal) => Promise<readonly CheckedPermission[]>;
  /** Returns some CSI volumes of the cluster, about whose disks a diagnosis may ask. */
  readonly someVolumes: (signal: AbortSignal) => Promise<readonly VolumeHandle[]>;
  readonly version: (signal: AbortSignal) => Promise<ServerVersion>;
  /** Returns whether the ledger that counts fences exists. */
  readonly ledger: (signal: AbortSignal) => Promise<boolean>;
  /** Yields the identity sources of each Node, one page of Nodes at a time. */
  readonly identities: (signal: AbortSignal) => AsyncGenerator<readonly NodeIdentity[]>;
}

/** https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access */
const checkPermission = async (writer: Writer, permission: NeededPermission): Promise<CheckedPermission> => {
  const { for: _purpose, ...resourceAttributes } = permission;
  const body = { spec: { resourceAttributes } };
  const { status } = await writer.write(AuthorizationV1Api, (api) => api.createSelfSubjectAccessReview({ body }));
  return { ...permission, allowed: status?.allowed ?? false };
};

/** The number of volumes with which the doctor checks whether the cloud answers about disks. */
const VOLUMES_CHECKED = 20;

export const createDoctor = (
  { reader, writer, clock }: Connection,
  { unverified }: Pick<Link, 'unverified'>,
): Doctor => {
  const version = versionReader(clock);
  const checked = (needed: readonly NeededPermission[], signal: AbortSignal) =>
    Promise.all(needed.map((permission) => checkPermission(writer(null, signal), permission)));
  return {
    unverified,
    permissions: (signal) => checked(neededPermissions, signal),
    diagnosisPermissions: (signal) => checked(diagnosisPermissions, signal),
    someVolumes: async (signal) => {
      const { items } = await reader(signal).read(CoreV1Api, (core) =>
        core.listPersistentVolume({ limit: VOLUMES_CHECKED }),
      );
      return items.map(csiHandleOf).filter((handle) => handle !== null);
    },
    version: (signal) => version(reader(signal)),
    ledger: async (signal) => (await readLedger(reader(signal))) !== null,
    identities: async function* (signal) {
      for await (const page of pages((paging) => reader(signal).read(CoreV1Api, (core) => core.listNode(paging)))) {
        yield page.map((node) => ({
          node: node.metadata?.name ?? '',
          identitySources: nodeIdentitySources(node),
          created: node.metadata?.creationTimestamp?.getTime() ?? 0,
        }));
      }
    },
  };
};

/** One verb that Cloudfence uses. `doctor` checks whether it is allowed, and the RBAC manifest must grant it. */
export interface NeededPermission {
  readonly verb: 'get' | 'list' | 'create' | 'patch' | 'delete';
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Set if a Role in this namespace is sufficient. */
  readonly namespace?: string;
  readonly name?: string;
  readonly for: string;
}

const STORAGE = 'storage.k8s.io';
const COORDINATION = 'coordination.k8s.io';
const ledgerMap = { namespace: LEDGER.namespace, name: LEDGER.name };

export const neededPermissions: readonly NeededPermission[] = [
  { verb: 'get', group: '', resource: 'nodes', for: 'finding and reading a Node' },
  {
    verb: 'list',
    group: '',
    resource: 'nodes',
    for: 'counting Nodes, and finding a Node with an unexpected name',
  },
  { verb: 'patch', group: '', resource: 'nodes', for: 'setting and releasing the fence' },
  { verb: 'delete', group: '', resource: 'nodes', for: 'removing the Node of a terminated machine' },
  { verb: 'get', group: '', resource: 'pods', for: 'failing the pods of Jobs' },
  { verb: 'list', group: '', resource: 'pods', for: 'finding the pods of a Node and the pod that replaced one' },
  { verb: 'delete', group: '', resource: 'pods', for: 'force-deleting the pods of a fenced Node' },
  { verb: 'patch', group: '', resource: 'pods', subresource: 'status', for: 'failing the pods of Jobs' },
  { verb: 'get', group: '', resource: 'persistentvolumeclaims', for: 'finding the volumes of a pod' },
  { verb: 'get', group: '', resource: 'persistentvolumes', for: 'finding the disk behind a volume' },
  {
    verb: 'get',
    group: '',
    resource: 'configmaps',
    ...SETTINGS,
    for: 'reading the global pause and the override of the cap',
  },
  { verb: 'get', group: '', resource: 'configmaps', ...ledgerMap, for: 'counting recent fences' },
  { verb: 'patch', group: '', resource: 'configmaps', ...ledgerMap, for: 'recording a fence before it begins' },
  { verb: 'get', group: STORAGE, resource: 'csinodes', for: 'proving which machine a Node belongs to' },
  { verb: 'get', group: STORAGE, resource: 'volumeattachments', for: 'watching a volume being detached' },
  { verb: 'list', group: STORAGE, resource: 'volumeattachments', for: 'finding what a deleted Node left behind' },
  { verb: 'patch', group: STORAGE, resource: 'volumeattachments', for: 'nudging the attacher' },
  {
    verb: 'delete',
    group: STORAGE,
    resource: 'volumeattachments',
    for: 'freeing a volume that no pod on the Node uses',
  },
  {
    verb: 'get',
    group: COORDINATION,
    resource: 'leases',
    namespace: LEASE_NAMESPACE,
    for: 'checking that the kubelet is silent',
  },
  {
    verb: 'list',
    group: COORDINATION,
    resource: 'leases',
    namespace: LEASE_NAMESPACE,
    for: 'sweeping for missed events',
  },
  {
    verb: 'create',
    group: 'events.k8s.io',
    resource: 'events',
    for: 'reporting what Cloudfence did, on Nodes and on pods in any namespace',
  },
];

const APPS = 'apps';

/**
 * The permissions that a diagnosis needs. `infra/kubernetes/diagnose-rbac.yaml` grants them. If one is missing, the
 * diagnosis reports what it could not read.
 */
export const diagnosisPermissions: readonly NeededPermission[] = [
  { verb: 'get', group: '', resource: 'pods', for: 'the pod that waits' },
  { verb: 'list', group: '', resource: 'pods', for: 'all pods that wait, and the other pods of a claim' },
  { verb: 'get', group: '', resource: 'nodes', for: 'whether the kubelet reports' },
  { verb: 'list', group: '', resource: 'nodes', for: 'the Node of the machine that the disk names' },
  { verb: 'get', group: '', resource: 'persistentvolumeclaims', for: 'the claim, and whether it is bound' },
  { verb: 'list', group: '', resource: 'persistentvolumeclaims', for: 'claims that are stuck without a pod' },
  { verb: 'get', group: '', resource: 'persistentvolumes', for: 'the volume, its disk, and its zone' },
  { verb: 'list', group: '', resource: 'persistentvolumes', for: 'the volume of a disk' },
  { verb: 'list', group: 'events.k8s.io', resource: 'events', for: 'why a kubelet or the scheduler complains' },
  { verb: 'get', group: STORAGE, resource: 'csidrivers', for: 'whether the driver attaches at all' },
  { verb: 'get', group: STORAGE, resource: 'csinodes', for: 'whether the driver is registered on the Node' },
  { verb: 'get', group: STORAGE, resource: 'volumeattachments', for: 'where the volume is attached' },
  { verb: 'list', group: STORAGE, resource: 'volumeattachments', for: 'unused attachments' },
  { verb: 'get', group: APPS, resource: 'deployments', for: 'whether two pods belong to one rollout' },
  { verb: 'get', group: APPS, resource: 'replicasets', for: 'whether two pods belong to one rollout' },
  { verb: 'list', group: APPS, resource: 'statefulsets', for: 'pods that are never created' },
  { verb: 'list', group: APPS, resource: 'deployments', for: 'pods that are never created' },
  { verb: 'list', group: 'batch', resource: 'jobs', for: 'pods that are never created' },
  { verb: 'get', group: COORDINATION, resource: 'leases', for: 'when a kubelet last reported' },
  { verb: 'list', group: COORDINATION, resource: 'leases', for: 'whether the attacher of the driver is alive' },
];

export interface ServerVersion {
  readonly text: string;
  /**
   * Whether Kubernetes detaches volumes because of the out-of-service taint by default. This is the case since 1.26.
   * https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
   */
  readonly taintSupported: boolean;
}

const FIRST_WITH_TAINT = 26;
const LASTS_MS = 3_600_000;

/**
 * Parses a server version. An unreadable version counts as a version without support for the taint. Cloudfence then
 * deletes pods and attachments one by one.
 */
export const versionOf = (gitVersion: string): ServerVersion => {
  const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    text: gitVersion,
    taintSupported: Number(major) > 1 || (major === '1' && Number(minor) >= FIRST_WITH_TAINT),
  };
};

/**
 * Returns a reader of the server's version. It reads the version again after an hour, because control planes are
 * upgraded while clients run.
 */
export const versionReader = ({ now }: Pick<CallClock, 'now'>): ((reader: Reader) => Promise<ServerVersion>) => {
  let known: { readonly version: ServerVersion; readonly until: number } | null = null;
  return async (reader) => {
    if (known && now() < known.until) return known.version;
    const { gitVersion } = await reader.read(VersionApi, (api) => api.getCode());
    known = { version: versionOf(gitVersion), until: now() + LASTS_MS };
    return known.version;
  };
};
