import type { Api } from '../../testbed/api.ts';
import { MERGE, STRATEGIC } from '../../testbed/api.ts';
import type { Machine } from './kubelet-node.ts';
import { csiNodeOf, heartbeat, leaseOf, newBoot, nodeOf, renewal, statusOf } from './kubelet-node.ts';
import type { PodWorker } from './kubelet-pods.ts';
import { openPodWorker } from './kubelet-pods.ts';
import type { Node, Pod } from '../../testbed/objects.ts';
import { node } from '../../testbed/objects.ts';

/** A stand-in for a kubelet: what the control plane sees of one node, with the identity of that node. */
export interface Kubelet {
  readonly machine: Machine;
  /**
   * Starts: registers, renews its Lease, and runs its pods. Uses a new boot ID, unless the old one is given, as after a
   * resume from hibernation. Resolves with the boot ID.
   */
  readonly boot: (bootID?: string) => Promise<string>;
  /** Stops in the middle of whatever it does, as when the power goes off. */
  readonly die: () => void;
  /** Something about its pods or its Node has changed. */
  readonly stir: () => void;
}

/** What it sees of the cluster. */
export interface KubeletView {
  readonly pods: () => readonly Pod[];
  readonly node: () => Node | undefined;
}

const LEASE_MS = 10_000;
const STATUS_MS = 5 * 60_000;
const RETRY_MS = 200;

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';

/** Creates the object, or changes the existing one of that name. */
const put = async (
  api: Api,
  path: string,
  object: { readonly metadata: { readonly name: string } },
  change: object,
): Promise<unknown> => {
  const made = await api.call('POST', path, object);
  if (made.status === 201) return made.body;
  if (made.status !== 409) throw new Error(`POST ${path}: ${made.status} ${JSON.stringify(made.body)}`);
  return api.write('PATCH', `${path}/${object.metadata.name}`, change, MERGE);
};

/** A reboot empties the list of volumes in use: nothing is mounted yet. */
const register = async (api: Api, machine: Machine, bootID: string): Promise<void> => {
  const made = await api.call('POST', '/api/v1/nodes', nodeOf(machine, bootID));
  if (made.status !== 201 && made.status !== 409)
    throw new Error(`the Node ${machine.name}: ${made.status} ${JSON.stringify(made.body)}`);
  const { metadata } = node.parse(made.status === 201 ? made.body : await api.get(`/api/v1/nodes/${machine.name}`));
  const csiNode = csiNodeOf(machine, metadata.uid);
  await put(api, CSI_NODES, csiNode, { metadata: csiNode.metadata });
  await put(api, LEASES, leaseOf(machine, metadata.uid), { spec: renewal() });
  if (made.status === 409)
    await api.write(
      'PATCH',
      `/api/v1/nodes/${machine.name}/status`,
      { status: { ...statusOf(machine, bootID), volumesInUse: null } },
      STRATEGIC,
    );
};

/** A machine that is off sends no requests. */
const whileAlive = (api: Api, alive: () => boolean): Api => {
  const living = (): Api => {
    if (!alive()) throw new Error('this kubelet is dead');
    return api;
  };
  return {
    ...api,
    call: async (...request) => living().call(...request),
    get: async (...request) => living().get(...request),
    write: async (...request) => living().write(...request),
  };
};

interface Life {
  readonly worker: PodWorker;
  readonly timers: readonly NodeJS.Timeout[];
  dirty: boolean;
  busy: boolean;
  /** The power is off. */
  over: boolean;
}

export const kubeletOf = (admin: Api, machine: Machine, view: KubeletView): Kubelet => {
  const api = admin.as(`system:node:${machine.name}`, 'system:nodes');
  let life: Life | null = null;

  /** One sync at a time, and another one if something changed meanwhile. A failed sync is repeated. */
  const work = async (own: Life): Promise<void> => {
    if (own.busy) return;
    own.busy = true;
    while (own.dirty && !own.over) {
      own.dirty = false;
      await own.worker.sync(view.pods(), view.node()).catch(() => void setTimeout(stir, RETRY_MS));
    }
    own.busy = false;
  };
  const stir = (): void => {
    if (!life) return;
    life.dirty = true;
    void work(life);
  };
  const stirIn = (ms: number): void => void setTimeout(stir, ms).unref();
  const periodically = (ms: number, path: string, body: () => object, type: string): NodeJS.Timeout =>
    setInterval(() => void api.call('PATCH', path, body(), type).catch(() => undefined), ms);

  return {
    machine,
    stir,
    boot: async (bootID = newBoot()) => {
      await register(api, machine, bootID);
      const timers = [
        periodically(LEASE_MS, `${LEASES}/${machine.name}`, () => ({ spec: renewal() }), MERGE),
        periodically(STATUS_MS, `/api/v1/nodes/${machine.name}/status`, () => ({ status: heartbeat() }), STRATEGIC),
      ];
      const own: Life = {
        worker: openPodWorker(
          whileAlive(api, () => !own.over),
          machine,
          stirIn,
        ),
        timers,
        dirty: false,
        busy: false,
        over: false,
      };
      life = own;
      stir();
      return bootID;
    },
    die: () => {
      if (!life) return;
      for (const timer of life.timers) clearInterval(timer);
      life.over = true;
      life = null;
    },
  };
};
