import { CloudfenceError, Unavailable } from '../fencing/model/errors.ts';
import type { MachineFacts, MachineId, VolumeHandle } from '../fencing/model/machine.ts';
import type { DiskView, ReadResult } from './model/facts.ts';
import type { DiagnosisPorts } from './ports.ts';

/** The answers of the clouds within one diagnosis. Each machine and each disk is read only once. */
export interface CloudMemory {
  readonly lookAt: (machines: readonly MachineId[]) => Promise<void>;
  readonly askWitnesses: (volumes: readonly VolumeHandle[]) => Promise<void>;
  readonly machine: (id: MachineId | null) => ReadResult<MachineFacts>;
  readonly disk: (volume: VolumeHandle | null) => ReadResult<DiskView>;
  /** The reads that were not answered, one sentence each. */
  readonly unread: () => readonly string[];
}

/** Returns why the read was not answered, or null. */
const declined = async (ask: () => Promise<void>): Promise<CloudfenceError | null> => {
  try {
    await ask();
    return null;
  } catch (error) {
    if (error instanceof CloudfenceError) return error;
    throw error;
  }
};

type Ask = (keys: readonly string[]) => Promise<void>;

/**
 * If a read of several objects was rejected, reads each half separately, because one object may have caused the
 * rejection. Stops if both halves give the same reason, or if the cloud does not answer.
 */
const reasonsOf = async (
  keys: readonly string[],
  error: CloudfenceError | null,
  ask: Ask,
): Promise<readonly string[]> => {
  if (error === null) return [];
  if (keys.length < 2 || error instanceof Unavailable) return [error.message];
  const middle = Math.ceil(keys.length / 2);
  const halves = [keys.slice(0, middle), keys.slice(middle)];
  const tried = await Promise.all(halves.map(async (half) => ({ half, error: await declined(() => ask(half)) })));
  if (tried.every((one) => one.error?.message === error.message)) return [error.message];
  return (await Promise.all(tried.map((one) => reasonsOf(one.half, one.error, ask)))).flat();
};

/** Makes a read, and stores the reason if it is not answered. */
const createNotes = () => {
  const failed = new Set<string>();
  const asking = async (keys: readonly string[], ask: Ask): Promise<void> => {
    if (keys.length === 0) return;
    for (const reason of await reasonsOf(keys, await declined(() => ask(keys)), ask)) failed.add(reason);
  };
  return { asking, unread: (): readonly string[] => [...failed] };
};

/** Returns after the reads that have begun earlier, too, because one of them may bring what the caller needs. */
const createGate = () => {
  const running = new Set<Promise<void>>();
  return async (read: Promise<void>): Promise<void> => {
    running.add(read);
    try {
      await Promise.all(running);
    } finally {
      running.delete(read);
    }
  };
};

const ELSEWHERE = 'the disk belongs to another account than the credentials';

type Remembered<T> = Map<string, T | 'unread'>;

/** Returns the keys that were not read yet, and marks them as read. */
const fresh = <T>(known: Remembered<T>, keys: readonly string[]): readonly string[] => {
  const unasked = [...new Set(keys)].filter((key) => !known.has(key));
  for (const key of unasked) known.set(key, 'unread');
  return unasked;
};

type CloudPorts = Pick<DiagnosisPorts, 'cloud' | 'signal'>;

/**
 * Stores what the cloud says about these machines. If an answer leaves out some machines, reads only these again, and
 * the cloud then gives the reason.
 * @throws CloudfenceError
 */
const askAbout = async (
  asked: readonly MachineId[],
  machines: Remembered<MachineFacts>,
  { cloud, signal }: CloudPorts,
): Promise<void> => {
  if (asked.length === 0) return;
  for (const facts of await cloud.look(asked, signal)) machines.set(facts.machine, facts);
  const leftOut = asked.filter((id) => machines.get(id) === 'unread');
  if (leftOut.length === asked.length)
    throw new Unavailable(`the response of the cloud does not contain ${leftOut.join(', ')}`);
  await askAbout(leftOut, machines, { cloud, signal });
};

/**
 * Stores what these disks say about themselves.
 * @throws CloudfenceError
 */
const askDisks = async (
  asked: readonly string[],
  volumes: readonly VolumeHandle[],
  disks: Remembered<DiskView>,
  { cloud, signal }: CloudPorts,
): Promise<void> => {
  const wanted = volumes.filter((volume) => asked.includes(cloud.rules.diskOf(volume) ?? ''));
  for (const view of await cloud.disks(wanted, signal)) disks.set(view.disk, view);
  const leftOut = asked.filter((disk) => disks.get(disk) === 'unread');
  if (leftOut.length > 0) throw new Unavailable(`no cloud was asked for ${leftOut.join(', ')}: ${ELSEWHERE}`);
};

export const createCloudMemory = ({ cloud, signal }: CloudPorts): CloudMemory => {
  const machines: Remembered<MachineFacts> = new Map();
  const disks: Remembered<DiskView> = new Map();
  const { asking, unread } = createNotes();
  const together = createGate();
  const { diskOf } = cloud.rules;
  return {
    lookAt: (named) => together(asking(fresh(machines, named), (some) => askAbout(some, machines, { cloud, signal }))),
    askWitnesses: (volumes) => {
      const named = volumes.map(diskOf).filter((disk) => disk !== null);
      return together(asking(fresh(disks, named), (some) => askDisks(some, volumes, disks, { cloud, signal })));
    },
    machine: (id) => (id === null ? null : (machines.get(id) ?? 'unread')),
    disk: (volume) => {
      const id = volume && diskOf(volume);
      return id === null ? null : (disks.get(id) ?? 'unread');
    },
    unread,
  };
};
