import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { anyCloud } from './any-cloud.ts';
import type { CloudAccess, OpenedCloud, CloudOptions, CloudPlugin } from '../providers/plugin.ts';
import {
  type ClusterEntry,
  keeperOf,
  type KeptKubeconfig,
  type ManagedCluster,
  managedIn,
} from '../providers/cluster-entries.ts';

/** What else a cloud is besides its line here: docs/clouds.md. The first is the likeliest. */
const clouds: Readonly<Record<string, () => Promise<CloudPlugin>>> = {
  aws: async () => (await import('../providers/aws/plugin/register.ts')).aws,
  azure: async () => (await import('../providers/azure/plugin/register.ts')).azure,
  gcp: async () => (await import('../providers/gcp/plugin/register.ts')).gcp,
};

const registered = async (name: string): Promise<CloudPlugin> => {
  const load = Object.hasOwn(clouds, name) ? clouds[name] : undefined;
  if (!load)
    throw new InvalidConfiguration([`there is no cloud named "${name}"; there is ${Object.keys(clouds).join(', ')}`]);
  return load();
};

/** Each is made once. What failed is tried again. */
const onceEach = <T>(make: (name: string) => Promise<T>): ((name: string) => Promise<T>) => {
  const made = new Map<string, Promise<T>>();
  const makeAnew = (name: string): Promise<T> => {
    const making = make(name);
    making.catch(() => made.delete(name));
    made.set(name, making);
    return making;
  };
  return (name) => made.get(name) ?? makeAnew(name);
};

interface WantedClouds extends CloudOptions {
  /** The one whose machines are meant; null where each machine tells its own. */
  readonly cloud: string | null;
  readonly clusters: readonly ClusterEntry[];
}

/**
 * The named cloud, or all of them as one, each loaded and opened by the first machine of its own. A cluster's entry
 * tells by itself which cloud keeps the way into it.
 *
 * @throws InvalidConfiguration
 */
export const openClouds = async ({ cloud, clusters, ...options }: WantedClouds): Promise<OpenedCloud> => {
  const open = onceEach(async (name) => (await registered(name)).open(options));
  const access = accessByEntry(onceEach(async (name) => (await registered(name)).access(options)));
  if (cloud !== null) return { ...(await open(cloud)), access };
  const all = await Promise.all(Object.values(clouds).map((load) => load()));
  const configured = new Set([...managedIn(clusters), ...(options.territories.length > 0 ? ['aws'] : [])]);
  return { ...anyCloud(all, open, configured), access };
};

type AccessOf = (cloud: string) => Promise<CloudAccess>;

const keeperAmong = (entry: ManagedCluster | KeptKubeconfig, accessOf: AccessOf): Promise<CloudAccess> => {
  const keeper = keeperOf(entry);
  if (keeper === null) throw new InvalidConfiguration([`no cloud keeps the way into the cluster ${entry.name}`]);
  return accessOf(keeper);
};

/** The ways into clusters of every cloud: machines may be in one and credentials in another. */
export const accessByEntry = (accessOf: AccessOf): CloudAccess => ({
  managedCluster: async (entry, signal) => (await keeperAmong(entry, accessOf)).managedCluster(entry, signal),
  secret: async (entry, signal) => (await keeperAmong(entry, accessOf)).secret(entry, signal),
});
