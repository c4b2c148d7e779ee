import type { AttachmentFacts } from '../model/cluster-facts.ts';
import { type MachineFacts, seemsOff } from '../model/machine.ts';
import { timing } from '../model/policy.ts';
import type { AwaitedAttachments } from '../rules/view.ts';
import { pollDelay } from '../rules/waits.ts';
import type { Command } from './command.ts';
import { clusterAt, type Ports } from './ports.ts';
import type { CommandResult } from './reduce.ts';
import { createSharedLooks } from './groups.ts';
import type { RunState } from './state.ts';

/**
 * How a run waits. A full look makes one call for almost every object that it reads. So a waiting run reads only one
 * attachment at a time, and sometimes the machine. A full look follows as soon as one of these reads shows a relevant
 * change.
 */

type Sleep = Extract<Command, { do: 'sleep' }>;

/** If the first this many attachments are all gone, usually all attachments are gone. */
const SIGN_OF_ALL = 2;

/**
 * Waits for `ms`, or until the awaited attachments or their machine end the wait. The pauses between these reads grow
 * like those between looks. If the run waits for something else, it reads only the machine, and only while our mark is
 * set.
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

/** Returns whether a machine is in the state that the look before the wait showed. */
export const isUnchanged = (before: MachineFacts, now: MachineFacts): boolean =>
  (now.power === before.power || (seemsOff(before) && seemsOff(now))) &&
  (now.generation === before.generation || now.generationDrifts === true);

interface MachineWatch {
  /** Returns whether it is time to read the machine. */
  readonly isDue: () => boolean;
  /** Reads the machine if it is time. Returns whether its state differs from the last look. */
  readonly hasChanged: () => Promise<boolean>;
}

/**
 * Reads the machine periodically. If the machine runs again, our mark must be removed, so a long wait must notice it.
 */
const machineWatch = ({ machine: seen, request }: RunState, ports: Ports): MachineWatch => {
  const { clock, signal } = ports;
  const { look } = ports.looks ?? createSharedLooks(ports, () => 1);
  let askedAt = clock.now().mono;
  const isDue = (): boolean => clock.now().mono - askedAt >= timing.askMachine;
  const hasChanged = async (): Promise<boolean> => {
    if (!seen || !isDue()) return false;
    askedAt = clock.now().mono;
    const { value } = await look(request.machine, false, signal);
    return !isUnchanged(seen.value, value);
  };
  return { isDue, hasChanged };
};

/** Returns whether Kubernetes has not begun the deletion in time. */
const isLate = ({ deletingSince }: AttachmentFacts, { deletedBy }: AwaitedAttachments, mono: number): boolean =>
  deletingSince === null && mono >= deletedBy;

interface Asking {
  readonly state: RunState;
  readonly ports: Ports;
  /** Returns whether there is time for another read. */
  readonly mayAskMore: () => boolean;
}

/**
 * Returns the attachments that may still exist, each as last seen. Returns none if the wait is over. Reads one
 * attachment, and a different one each time. If that attachment is gone and there is time, reads another one. So each
 * attachment is read only once after it has gone.
 */
const ask = async (
  awaited: readonly AttachmentFacts[],
  until: AwaitedAttachments,
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

/**
 * Drivers may detach in the order of the list. So the attachment in the middle of the list says more about the others
 * than the next one does.
 */
const middleOf = <T>(all: readonly T[]): T | undefined => all[Math.floor(all.length / 2)];

/**
 * Returns the attachments that are still awaited after one of them was found to exist. Returns none if the wait is
 * over.
 */
const stillAwaited = (
  seen: AttachmentFacts,
  found: AttachmentFacts,
  others: readonly AttachmentFacts[],
  until: AwaitedAttachments,
  { clock }: Ports,
): readonly AttachmentFacts[] => {
  const standing = [...others, found];
  const { mono } = clock.now();
  const isOver = found.detachError !== seen.detachError || standing.some((one) => isLate(one, until, mono));
  return isOver ? [] : standing;
};
