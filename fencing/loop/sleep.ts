import type { AttachmentFacts } from '../model/cluster-facts.ts';
import type { MachineFacts } from '../model/machine.ts';
import { timing } from '../model/policy.ts';
import type { Awaited } from '../rules/view.ts';
import { pollDelay } from '../rules/waits.ts';
import type { Command } from './next-command.ts';
import { clusterAt, type Ports } from './ports.ts';
import type { CommandResult } from './reduce.ts';
import { createSharedLooks } from './shared-looks.ts';
import { type RunState, saysOff } from './state.ts';

/**
 * How a run waits. A full look costs a call for nearly everything that it shows. So a wait asks for one attachment at a
 * time, and sometimes for the machine. A look follows as soon as an answer shows that it is worth it.
 */

type Sleep = Extract<Command, { do: 'sleep' }>;

/** If so many are gone at once, and none was gone before, usually all are. */
const SIGN_OF_ALL = 2;

/**
 * Waits for `ms`, or until the awaited attachments or their machine end the wait. The times between two questions grow
 * as those between looks. A wait for something else asks only for the machine, and only while our mark stands.
 */
export const sleepOrPoll = async ({ ms, until }: Sleep, state: RunState, ports: Ports): Promise<CommandResult> => {
  const { clock, signal } = ports;
  if (!until && state.memory.mark === null) {
    await clock.sleep(ms, signal);
    return { to: 'sleep', polls: 0 };
  }
  const deadline = clock.now().mono + ms;
  const { isDue, hasChanged } = machineWatch(state, ports);
  const mayAskMore = (): boolean => clock.now().mono < Math.min(deadline, state.deadline) && !isDue();
  let standing = until?.attachments ?? null;
  for (let asked = 0; ; asked += 1) {
    const delay = Math.min(until ? attachmentDelay(state, asked) : timing.askMachine, deadline - clock.now().mono);
    await clock.sleep(Math.max(0, delay), signal);
    if (clock.now().mono >= deadline) return { to: 'sleep', polls: until ? asked : 0 };
    if (until && standing) standing = await ask(standing, until, { state, ports, mayAskMore });
    if (standing?.length === 0 || (await hasChanged())) return { to: 'sleep', polls: until ? asked + 1 : 0 };
  }
};

const attachmentDelay = ({ memory }: RunState, asked: number): number =>
  pollDelay({ memory: { ...memory, polls: memory.polls + asked } });

/** An operation on a machine that is off is mostly the awaited detach itself. */
const seemsOff = ({ power, offUnderOperation = false }: MachineFacts): boolean =>
  saysOff.has(power) || offUnderOperation;

/** Returns whether a machine whose attachments are awaited is as a look showed it. */
export const isAsBefore = (before: MachineFacts, now: MachineFacts): boolean =>
  (now.power === before.power || (seemsOff(before) && seemsOff(now))) &&
  (now.generation === before.generation || now.generationDrifts === true);

interface MachineWatch {
  /** Whether it is time to ask for the machine. */
  readonly isDue: () => boolean;
  /** Asks for the machine if it is time. Returns whether it is no longer as the last look showed it. */
  readonly hasChanged: () => Promise<boolean>;
}

/** Asks for the machine from time to time. A machine that runs again loses our mark, so a long wait must not miss it. */
const machineWatch = ({ machine: seen, request }: RunState, ports: Ports): MachineWatch => {
  const { clock, signal } = ports;
  const { look } = ports.looks ?? createSharedLooks(ports, () => 1);
  let askedAt = clock.now().mono;
  const isDue = (): boolean => seen !== null && clock.now().mono - askedAt >= timing.askMachine;
  const hasChanged = async (): Promise<boolean> => {
    if (!seen || !isDue()) return false;
    askedAt = clock.now().mono;
    const { value } = await look(request.machine, false, signal);
    return !isAsBefore(seen.value, value);
  };
  return { isDue, hasChanged };
};

/** Returns whether Kubernetes has not begun with the deletion in time. */
const isLate = ({ deletingSince }: AttachmentFacts, { deletedBy }: Awaited, mono: number): boolean =>
  deletingSince === null && mono >= deletedBy;

interface Asking {
  readonly state: RunState;
  readonly ports: Ports;
  /** Whether there is time for one more question. */
  readonly mayAskMore: () => boolean;
}

/**
 * Returns the attachments that may still stand, each as it was last seen. Returns none if the wait is over. Asks for
 * one, and next time for another. While those are gone and there is time, asks for one more. So each is asked for once
 * after it has gone.
 */
const ask = async (
  awaited: readonly AttachmentFacts[],
  until: Awaited,
  { state, ports, mayAskMore }: Asking,
): Promise<readonly AttachmentFacts[]> => {
  const cluster = clusterAt(state.location, ports);
  const noneWasGone = awaited.length === until.attachments.length;
  let left = awaited;
  for (let seen = left[0]; seen; seen = mayAskMore() ? middleOf(left) : undefined) {
    const found = await cluster.attachment(seen.name, ports.signal);
    const others = left.filter((one) => one !== seen);
    if (found?.uid === seen.uid) return stillAwaited(seen, found, others, until, ports);
    left = others;
    if (until.fewTellAll && noneWasGone && awaited.length - left.length === SIGN_OF_ALL) return [];
  }
  return left;
};

/** Drivers may detach in the order of the list, so its middle says more about the rest than the next one does. */
const middleOf = <T>(all: readonly T[]): T | undefined => all[Math.floor(all.length / 2)];

/** Returns what is still awaited after one of them was found standing. Returns none if the wait is over. */
const stillAwaited = (
  seen: AttachmentFacts,
  found: AttachmentFacts,
  others: readonly AttachmentFacts[],
  until: Awaited,
  { clock }: Ports,
): readonly AttachmentFacts[] => {
  const standing = [...others, found];
  const { mono } = clock.now();
  const isOver = found.detachError !== seen.detachError || standing.some((one) => isLate(one, until, mono));
  return isOver ? [] : standing;
};
