import type { Network } from '../network.ts';
import { EPOCH, type Process } from '../process.ts';
import type { Disk, Fleet, Machine, Shown } from '../machines.ts';
import { shownAt } from '../machines.ts';

/** A destructive call of Cloudfence that takes effect in a cloud. */
export interface CloudWrite {
  readonly verb: 'detach' | 'power-off';
  readonly machine: Machine;
  readonly disk: Disk | null;
}

/** What the stand-in of each cloud consists of. */
export interface CloudSide {
  readonly fleet: Fleet;
  readonly network: Network;
  readonly process: Process;
  readonly now: () => number;
  /** Called with each destructive call right before it takes effect. */
  readonly watch: (write: CloudWrite) => void;
  /** Called with each detach that arrives, and the machine that has the id, before the cloud accepts or rejects it. */
  readonly watchDetach: (machine: Machine | null, disk: string) => void;
  /** Detaches the disk, now or a moment later. */
  readonly detach: (machine: Machine, disk: Disk, forced: boolean) => void;
  readonly powerOff: (machine: Machine) => void;
}

/** A machine as an answer shows it. */
export interface ObservedMachine {
  readonly machine: Machine;
  readonly shown: Shown;
  /** The time to which the answer refers (ms). */
  readonly at: number;
}

export const observedMachineOf = (machine: Machine, age: number, now: number): ObservedMachine => ({
  machine,
  shown: shownAt(machine, now - age),
  at: now - age,
});

/** Returns the newest machine with the id that an answer shows. */
export const seenById = ({ fleet, now }: CloudSide, id: string, age: number): ObservedMachine | null => {
  const machine = fleet.machines.findLast((one) => one.id === id && one.createdAt <= now() - age);
  return machine ? observedMachineOf(machine, age, now()) : null;
};

/** Returns the machine that an answer shows as the holder of a disk. */
export const holderOf = ({ fleet, now }: CloudSide, disk: string, age: number): Machine | null =>
  age === 0
    ? (fleet.disks.get(disk)?.holder ?? null)
    : (fleet.machines.find((machine) => shownAt(machine, now() - age).disks.includes(disk)) ?? null);

export const dateAt = (at: number): Date => new Date(EPOCH + at);
/** Clouds give times in whole seconds. */
export const secondAt = (at: number): Date => new Date(EPOCH + Math.floor(at / 1_000) * 1_000);
