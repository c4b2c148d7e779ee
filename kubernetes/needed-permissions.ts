import { EVENT_NAMESPACE, LEASE_NAMESPACE, LEDGER, SETTINGS } from './names.ts';

/** One verb that Cloudfence calls: what `doctor` asks about and what the RBAC manifest has to grant. */
export interface NeededPermission {
  readonly verb: 'get' | 'list' | 'create' | 'patch' | 'delete';
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Set where a Role in this namespace is enough. */
  readonly namespace?: string;
  readonly name?: string;
  readonly for: string;
}

const STORAGE = 'storage.k8s.io';
const COORDINATION = 'coordination.k8s.io';
const ledgerMap = { namespace: LEDGER.namespace, name: LEDGER.name };

export const neededPermissions: readonly NeededPermission[] = [
  { verb: 'get', group: '', resource: 'nodes', for: 'finding and looking at a Node' },
  { verb: 'list', group: '', resource: 'nodes', for: 'counting Nodes, and finding a Node whose name cannot be guessed' },
  { verb: 'patch', group: '', resource: 'nodes', for: 'setting and taking back the fence' },
  { verb: 'delete', group: '', resource: 'nodes', for: 'removing the Node of a terminated machine' },
  { verb: 'get', group: '', resource: 'pods', for: 'failing the pods of Jobs' },
  { verb: 'list', group: '', resource: 'pods', for: 'finding the pods of a Node and the pod that replaced one' },
  { verb: 'delete', group: '', resource: 'pods', for: 'force-deleting the pods of a fenced Node' },
  { verb: 'patch', group: '', resource: 'pods', subresource: 'status', for: 'failing the pods of Jobs' },
  { verb: 'get', group: '', resource: 'persistentvolumeclaims', for: 'finding the volumes of a pod' },
  { verb: 'get', group: '', resource: 'persistentvolumes', for: 'finding the disk behind a volume' },
  { verb: 'get', group: '', resource: 'configmaps', ...SETTINGS, for: 'heeding the global pause and a lifted cap' },
  { verb: 'get', group: '', resource: 'configmaps', ...ledgerMap, for: 'counting the fences begun lately' },
  { verb: 'patch', group: '', resource: 'configmaps', ...ledgerMap, for: 'entering a fence before it begins' },
  { verb: 'get', group: STORAGE, resource: 'csinodes', for: 'proving which machine a Node is' },
  { verb: 'get', group: STORAGE, resource: 'volumeattachments', for: 'watching a volume being detached' },
  { verb: 'list', group: STORAGE, resource: 'volumeattachments', for: 'finding what a deleted Node left behind' },
  { verb: 'patch', group: STORAGE, resource: 'volumeattachments', for: 'nudging the attacher' },
  { verb: 'delete', group: STORAGE, resource: 'volumeattachments', for: 'freeing a volume that no pod on the Node wants' },
  { verb: 'get', group: COORDINATION, resource: 'leases', namespace: LEASE_NAMESPACE, for: 'seeing that the kubelet is silent' },
  { verb: 'list', group: COORDINATION, resource: 'leases', namespace: LEASE_NAMESPACE, for: 'sweeping for missed events' },
  { verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: EVENT_NAMESPACE, for: 'telling people what was done' },
];
