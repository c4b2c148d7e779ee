import { quoteBeginning } from '../fencing/model/foreign-text.ts';
import { InvalidConfiguration, InvalidInput } from '../fencing/model/errors.ts';
import { anyCloud } from './any-cloud.ts';
import type {
  CloudAccess,
  CloudOptions,
  CloudPlugin,
  IncidentPlace,
  OpenedCloud,
  OpenIncidentPlace,
  OpenTestChain,
  TestChain,
} from '../providers/plugin.ts';
import {
  type ClusterEntry,
  cloudOfEntry,
  type StoredKubeconfig,
  type ManagedCluster,
  managedClouds,
} from '../providers/cluster-entries.ts';

/**
 * The only list of clouds. Other code for a cloud, such as its deployment or its demo, is found by the name in this
 * list. The first cloud is the likeliest.
 */
const clouds: Readonly<Record<string, () => Promise<CloudPlugin>>> = {
  aws: async () => (await import('../providers/aws/plugin/register.ts')).aws,
  azure: async () => (await import('../providers/azure/plugin/register.ts')).azure,
  gcp: async () => (await import('../providers/gcp/plugin/register.ts')).gcp,
};

/** The names of all clouds, the likeliest first. */
export const cloudNames: readonly string[] = Object.keys(clouds);

const registered = async (name: string): Promise<CloudPlugin> => {
  const load = Object.hasOwn(clouds, name) ? clouds[name] : undefined;
  if (!load)
    throw new InvalidConfiguration([
      `${quoteBeginning(name)} is not a supported cloud: use one of ${cloudNames.join(', ')}`,
    ]);
  return load();
};

/** Loads the part of every cloud that needs no SDK. */
export const registeredClouds = (): Promise<readonly CloudPlugin[]> =>
  Promise.all(Object.values(clouds).map((load) => load()));

/**
 * Opens the incidents at an address. Only the cloud of that address is loaded.
 * @throws InvalidInput if no cloud has such addresses
 */
export const openIncidents = async (
  address: string,
  options: Parameters<OpenIncidentPlace>[0],
): Promise<IncidentPlace> => {
  const places = (await registeredClouds()).flatMap(({ incidents }) => incidents ?? []);
  const [open] = places.flatMap(({ at }) => at(address) ?? []);
  if (open) return open(options);
  throw new InvalidInput(
    `${quoteBeginning(withoutQuery(address))} is no place of incidents: write ` +
      `${places.map(({ form }) => form).join(', ')}, or a folder`,
  );
};

/**
 * Opens the chain of events behind an entrance, for a test event. Only the cloud of that entrance is loaded.
 * @throws InvalidInput if no cloud has such entrances
 */
export const openTestChain = async (entrance: string, options: Parameters<OpenTestChain>[0]): Promise<TestChain> => {
  const chains = (await registeredClouds()).flatMap(({ testChains }) => testChains ?? []);
  const [open] = chains.flatMap(({ at }) => at(entrance) ?? []);
  if (open) return open(options);
  throw new InvalidInput(
    `${quoteBeginning(withoutQuery(entrance))} is no place where events enter an install: write ` +
      chains.map(({ form }) => form).join(', or '),
  );
};

/** A query may contain a signature, which is a secret. */
const withoutQuery = (address: string): string => address.replace(/\?.*$/s, '?…');

/** Calls `make` once for each name and keeps the result. After a failure, the next call tries again. */
const memoizeByName = <T>(make: (name: string) => Promise<T>): ((name: string) => Promise<T>) => {
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
  /** The cloud of all machines; null if each machine's id determines its cloud. */
  readonly cloud: string | null;
  readonly clusters: readonly ClusterEntry[];
}

/**
 * Opens the named cloud, or all clouds as one. In the second case, the first machine of a cloud loads and opens that
 * cloud. The entry of a cluster determines which cloud stores the access to that cluster.
 *
 * @throws InvalidConfiguration
 */
export const openClouds = async ({ cloud, clusters, ...options }: WantedClouds): Promise<OpenedCloud> => {
  const open = memoizeByName(async (name) => (await registered(name)).open(options));
  const access = clusterAccess(memoizeByName(async (name) => (await registered(name)).access(options)));
  if (cloud !== null) return { ...(await open(cloud)), access };
  const configured = new Set([...managedClouds(clusters), ...(options.territories.length > 0 ? ['aws'] : [])]);
  return { ...anyCloud(await registeredClouds(), open, configured), access };
};

type AccessOf = (cloud: string) => Promise<CloudAccess>;

const accessForEntry = (entry: ManagedCluster | StoredKubeconfig, accessOf: AccessOf): Promise<CloudAccess> => {
  const keeper = cloudOfEntry(entry);
  if (keeper === null) throw new InvalidConfiguration([`no cloud provides the access to cluster ${entry.name}`]);
  return accessOf(keeper);
};

/** Combines the access to clusters of all clouds. Machines may be in one cloud, and credentials in another. */
export const clusterAccess = (accessOf: AccessOf): CloudAccess => ({
  managedCluster: async (entry, signal) => (await accessForEntry(entry, accessOf)).managedCluster(entry, signal),
  secret: async (entry, signal) => (await accessForEntry(entry, accessOf)).secret(entry, signal),
});
