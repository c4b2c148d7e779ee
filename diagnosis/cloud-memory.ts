import { CloudfenceError, Unavailable } from '../fencing/model/errors.ts';
import type { MachineFacts, MachineId, VolumeHandle } from '../fencing/model/machine.ts';
import type { DiskView, ReadResult } from './model/facts.ts';
import type { DiagnosisPorts } from './ports.ts';

/** What the clouds said in one diagnosis. Each machine and each disk is asked for once. */
export interface CloudMemory {
  readonly lookAt: (machines: readonly MachineId[]) => Promise<void>;
  readonly askWitnesses: (volumes: readonly VolumeHandle[]) => Promise<void>;
  readonly machine: (id: MachineId | null) => ReadResult<MachineFacts>;
  readonly disk: (volume: VolumeHandle | null) => ReadResult<DiskView>;
  /** What could not be asked, one sentence each. */
  readonly unread: () => readonly string[];
}

/** Runs a question, and notes why it was not answered. */
const createNotes = () => {
  const failed = new Set<string>();
  const noting = async (ask: () => Promise<void>): Promise<void> => {
    try {
      await ask();
    } catch (error) {
      if (!(error instanceof CloudfenceError)) throw error;
      failed.add(error.message);
    }
  };
  return { noting, unread: (): readonly string[] => [...failed] };
};

const ELSEWHERE = 'the disk belongs to another account than the credentials';

type Remembered<T> = Map<string, T | 'unread'>;

/** Returns the keys that were not asked for yet, and notes them as asked. */
const fresh = <T>(known: Remembered<T>, keys: readonly string[]): readonly string[] => {
  const unasked = [...new Set(keys)].filter((key) => !known.has(key));
  for (const key of unasked) known.set(key, 'unread');
  return unasked;
};

type CloudPorts = Pick<DiagnosisPorts, 'cloud' | 'signal'>;

/**
 * Notes what the cloud says of these machines. Asks again for those that an answer leaves out, without the others:
 * then the cloud says why.
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

export const createCloudMemory = ({ cloud, signal }: CloudPorts): CloudMemory => {
  const machines: Remembered<MachineFacts> = new Map();
  const disks: Remembered<DiskView> = new Map();
  const { noting, unread } = createNotes();
  const { diskOf } = cloud.rules;
  return {
    lookAt: (named) => noting(() => askAbout(fresh(machines, named), machines, { cloud, signal })),
    askWitnesses: (volumes) =>
      noting(async () => {
        const asked = new Set(
          fresh(
            disks,
            volumes.map(diskOf).filter((disk) => disk !== null),
          ),
        );
        const wanted = volumes.filter((volume) => asked.has(diskOf(volume) ?? ''));
        const answers = wanted.length === 0 ? [] : await cloud.disks(wanted, signal);
        for (const view of answers) disks.set(view.disk, view);
        const leftOut = [...asked].filter((disk) => disks.get(disk) === 'unread');
        if (leftOut.length > 0) throw new Unavailable(`nobody was asked for ${leftOut.join(', ')}: ${ELSEWHERE}`);
      }),
    machine: (id) => (id === null ? null : (machines.get(id) ?? 'unread')),
    disk: (volume) => {
      const id = volume && diskOf(volume);
      return id === null ? null : (disks.get(id) ?? 'unread');
    },
    unread,
  };
};
