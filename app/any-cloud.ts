import type { Cloud, UnservedScope, Fault, ParsedEvent } from '../fencing/model/cloud.ts';
import { CloudfenceError, Refused } from '../fencing/model/errors.ts';
import {
  type DiskHolders,
  type IdentitySource,
  type MachineFacts,
  type MachineId,
  emptyMachineFacts,
  type VolumeHandle,
} from '../fencing/model/machine.ts';
import { withoutFailed } from '../providers/each-machine.ts';
import type { OpenedCloud, CloudProbe, CloudPlugin } from '../providers/plugin.ts';

/** Combines several clouds into one. Each call goes to the cloud of its machine, and only that cloud is opened. */

type OpenCloud = (name: string) => Promise<OpenedCloud>;
type Registered = readonly CloudPlugin[];

/**
 * Returns the facts about an id that belongs to no known cloud. No identity source contains such an id, but a record
 * that someone has written by hand may.
 */
const factsOfUnknownCloud = (machine: MachineId): MachineFacts => ({
  ...emptyMachineFacts(machine),
  power: 'unknown',
  evidence: { state: 'this is not a machine id of any supported cloud' },
});

const ownerOf = (machine: MachineId, registered: Registered): CloudPlugin | undefined =>
  registered.find(({ ownsId: owns }) => owns(machine));

const byOwner = (
  machines: readonly MachineId[],
  registered: Registered,
): readonly (readonly [CloudPlugin | null, readonly MachineId[]])[] => [
  ...registered.map((cloud) => [cloud, machines.filter(cloud.ownsId)] as const),
  [null, machines.filter((machine) => !ownerOf(machine, registered))],
];

type IdentityRules = ReturnType<NonNullable<Cloud['identityRulesFor']>>;

/**
 * The opened clouds, by name. A run that has looked at a machine has already opened the machine's cloud. By then, that
 * cloud knows which locations it serves.
 */
type OpenedClouds = ReadonlyMap<string, Cloud>;

const unservedScopeOf = (
  source: IdentitySource,
  registered: Registered,
  opened: OpenedClouds,
): UnservedScope | null => {
  const cloud = registered.find(({ machineOf }) => machineOf(source) !== null);
  return (cloud && opened.get(cloud.name)?.unservedScope(source)) ?? null;
};

/**
 * Returns the rules that determine which cloud a machine belongs to. Only the rules of that cloud are used to read an
 * identity source.
 */
const identityRulesOf = (registered: Registered, unservedScope: Cloud['unservedScope']): IdentityRules => {
  const first = <T>(read: (cloud: CloudPlugin) => T | null): T | null =>
    registered.reduce<T | null>((found, cloud) => found ?? read(cloud), null);
  return {
    name: registered.map(({ name }) => name).join(' or '),
    machineOf: (source) => first(({ machineOf }) => machineOf(source)),
    immutableIdsOf: () => [],
    unservedScope,
    diskOf: (volume) => first(({ diskOf }) => diskOf(volume)),
  };
};

/** Returns the cloud to which a call goes. The first call to a cloud opens it. */
const routesTo = (registered: Registered, open: OpenCloud) => {
  const owning = async (machine: MachineId): Promise<Cloud> => {
    const owner = ownerOf(machine, registered);
    if (!owner) throw new Refused(`${machine} is not a machine id of any supported cloud`);
    return (await open(owner.name)).cloud;
  };
  const lookAt = async (
    cloud: CloudPlugin | null,
    machines: readonly MachineId[],
    ...how: readonly [{ readonly disks: boolean }, AbortSignal]
  ): Promise<readonly MachineFacts[]> => {
    if (machines.length === 0) return [];
    return cloud ? (await open(cloud.name)).cloud.look(machines, ...how) : machines.map(factsOfUnknownCloud);
  };
  const holdersIn = async (
    cloud: CloudPlugin,
    volumes: readonly VolumeHandle[],
    signal: AbortSignal,
  ): Promise<readonly DiskHolders[]> =>
    volumes.length === 0 || !cloud.machinesNamed
      ? []
      : ((await (await open(cloud.name)).cloud.holders?.(volumes, signal)) ?? []);
  return { owning, lookAt, holdersIn };
};

const cloudOf = (registered: Registered, openCloud: OpenCloud): Cloud => {
  const opened = new Map<string, Cloud>();
  const { owning, lookAt, holdersIn } = routesTo(registered, async (name) => {
    const openedCloud = await openCloud(name);
    opened.set(name, openedCloud.cloud);
    return openedCloud;
  });
  const unservedScope = (source: IdentitySource): UnservedScope | null => unservedScopeOf(source, registered, opened);
  const rules = identityRulesOf(registered, unservedScope);
  return {
    ...rules,
    identityRulesFor: (machine) => {
      const owner = ownerOf(machine, registered);
      return { ...rules, ...owner, ...owner?.identityRulesFor?.(machine), unservedScope };
    },
    look: async (machines, ...how) =>
      withoutFailed(
        await Promise.allSettled(byOwner(machines, registered).map(([cloud, own]) => lookAt(cloud, own, ...how))),
      ),
    sharedLookScope: (machine) =>
      opened.get(ownerOf(machine, registered)?.name ?? '')?.sharedLookScope?.(machine) ?? null,
    witness: async (machine, ...rest) => (await owning(machine)).witness(machine, ...rest),
    holders: async (volumes, signal) => {
      const ownOf = ({ diskOf }: CloudPlugin) => volumes.filter((volume) => diskOf(volume) !== null);
      return (await Promise.all(registered.map((cloud) => holdersIn(cloud, ownOf(cloud), signal)))).flat();
    },
    machinesNamed: (node, volume) => registered.flatMap(({ machinesNamed }) => machinesNamed?.(node, volume) ?? []),
    detach: async (from, ...rest) => (await owning(from.machine)).detach(from, ...rest),
    powerOff: async (target, ...rest) => (await owning(target.machine)).powerOff(target, ...rest),
  };
};

/** Returns the probes of a cloud. A cloud that cannot be opened is treated like a scope that does not answer. */
const probesOf = async (
  name: string,
  machines: readonly MachineId[],
  open: OpenCloud,
): Promise<readonly CloudProbe[]> => {
  try {
    const { probes, probesOfMachines = async () => [] } = await open(name);
    return [...probes, ...(await probesOfMachines(machines))];
  } catch (error) {
    if (error instanceof CloudfenceError)
      return [{ where: name, ask: () => Promise.reject(error), destructiveCalls: async () => [] }];
    throw error;
  }
};

/** Replaces scale sets with their machines. If a cloud cannot be opened for this, the call fails. */
const expandScaleSets = async (
  named: readonly MachineId[],
  signal: AbortSignal,
  registered: Registered,
  open: OpenCloud,
): Promise<readonly MachineId[]> => {
  const perCloud = byOwner(named, registered).map(async ([cloud, own]) => {
    if (!cloud || own.length === 0) return own;
    const { expand: expandOwn = async () => own } = await open(cloud.name);
    return expandOwn(own, signal);
  });
  return (await Promise.all(perCloud)).flat();
};

/**
 * Combines the registered clouds. The first one is the likeliest. `configured` contains the names of the clouds in the
 * configuration.
 */
export const anyCloud = (
  registered: Registered,
  open: OpenCloud,
  configured: ReadonlySet<string>,
): Omit<OpenedCloud, 'access'> => ({
  driverFaultOf: (sentence) =>
    registered.map(({ driverFaultOf }) => driverFaultOf(sentence)).find((fault) => fault !== null) ?? null,
  viewDisks: async (volumes, signal) => {
    const perCloud = registered.map(async ({ name, diskOf }) => {
      const own = volumes.filter((volume) => diskOf(volume) !== null);
      return own.length === 0 ? [] : (await open(name)).viewDisks(own, signal);
    });
    return (await Promise.all(perCloud)).flat();
  },
  cloud: cloudOf(registered, open),
  readHints: (raw) => readEventOfAnyCloud(raw, registered),
  expand: (named, signal) => expandScaleSets(named, signal, registered, open),
  drill: async (machine) => {
    const owner = ownerOf(machine, registered);
    if (!owner) throw new Refused(`${machine} is not a machine id of any supported cloud`);
    const { drill } = await open(owner.name);
    if (!drill) throw new Refused(`there are no drills on ${owner.name}`);
    return drill(machine);
  },
  probes: [],
  probesOfMachines: async (machines) => {
    const concerned = registered.filter(({ name, ownsId: owns }) => configured.has(name) || machines.some(owns));
    const asked = concerned.length > 0 ? concerned : registered.slice(0, 1);
    return (
      await Promise.all(asked.map(({ name, ownsId: owns }) => probesOf(name, machines.filter(owns), open)))
    ).flat();
  },
});

interface ReadAttempt extends ParsedEvent {
  readonly name: string;
}

/**
 * Returns how deep a reader got into an event before it found a fault. A reader that knows the envelope gets deeper
 * than one that does not.
 */
const depthOf = ({ where }: Fault): number => where.split(/[.[(]/).length;

const deepest = ({ faults }: ParsedEvent): number => Math.max(0, ...faults.map(depthOf));

/** Returns a negative number if `one` has understood more. */
const compareUnderstanding = (one: ReadAttempt, other: ReadAttempt): number =>
  other.hints.length - one.hints.length || other.ignored.length - one.ignored.length || deepest(other) - deepest(one);

/**
 * Returns the faults of an event that several clouds understood equally well. The event belongs to none of them, so the
 * remedy lists what each cloud accepts.
 */
const faultsOfNoCloud = (attempts: readonly ReadAttempt[]): readonly Fault[] => {
  const [first, ...others] = attempts.flatMap(({ faults }) => faults.slice(0, 1));
  if (!first) return [];
  const remedies = [first, ...others].map(({ remedy }) => remedy.replace(/^send /, ''));
  return [{ ...first, remedy: `send ${[...new Set(remedies)].join('; or ')}` }];
};

/** Returns an event as read by the cloud that understands most of it. */
export const readEventOfAnyCloud = (
  raw: unknown,
  clouds: readonly Pick<CloudPlugin, 'name' | 'readHints'>[],
): ParsedEvent => {
  const attempts = clouds
    .map(({ name, readHints }): ReadAttempt => ({ name, ...readHints(raw) }))
    .toSorted(compareUnderstanding);
  const [best] = attempts;
  if (!best) return { hints: [], faults: [], ignored: [] };
  const equals = attempts.filter((one) => compareUnderstanding(best, one) === 0);
  if (equals.length > 1 && best.hints.length === 0 && best.ignored.length === 0)
    return { hints: [], faults: faultsOfNoCloud(equals), ignored: [] };
  const { name, hints, faults, ignored } = best;
  return {
    hints,
    faults: faults.map((fault) => ({ ...fault, what: `${fault.what} (read as an event of ${name})` })),
    ignored,
  };
};
