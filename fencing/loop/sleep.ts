import type { AttachmentFacts } from '../model/cluster-facts.ts';
import { pollDelay } from '../rules/waits.ts';
import type { Awaited } from '../rules/view.ts';
import type { Command } from './next-command.ts';
import { clusterAt, type Ports } from './ports.ts';
import type { CommandResult } from './reduce.ts';
import type { RunState } from './state.ts';

/** How a run waits. A full look costs nine calls and two of the cloud's, and a question after one attachment costs one. */

type Sleep = Extract<Command, { do: 'sleep' }>;

/**
 * Waits for `ms`, or until the awaited attachments end the wait. The times between two questions grow as those between
 * looks.
 */
export const sleepOrPoll = async ({ ms, until }: Sleep, state: RunState, ports: Ports): Promise<CommandResult> => {
  const { clock, signal } = ports;
  if (!until) {
    await clock.sleep(ms, signal);
    return { to: 'sleep', polls: 0 };
  }
  const deadline = clock.now().mono + ms;
  const { memory } = state;
  let left = until.attachments;
  for (let polls = 0; ; polls += 1) {
    const delay = pollDelay({ memory: { ...memory, polls: memory.polls + polls } });
    await clock.sleep(Math.max(0, Math.min(delay, deadline - clock.now().mono)), signal);
    if (clock.now().mono >= deadline) return { to: 'sleep', polls };
    const standing = await ask(left, until, state, ports);
    if (standing.length === 0) return { to: 'sleep', polls: polls + 1 };
    left = standing;
  }
};

/** Returns whether a look has to follow: an error, or a deletion that does not begin, concerns the rules. */
const concerns = (now: AttachmentFacts, seen: AttachmentFacts, { deletedBy }: Awaited, mono: number): boolean =>
  now.detachError !== seen.detachError || (now.deletingSince === null && mono >= deletedBy);

/**
 * Returns the attachments that still go away by themselves. Returns none if the wait is over. Asks for the first, and
 * if it is gone, for twice as many each time: usually they all go together.
 */
const ask = async (
  awaited: readonly AttachmentFacts[],
  until: Awaited,
  { location }: RunState,
  ports: Ports,
): Promise<readonly AttachmentFacts[]> => {
  const cluster = clusterAt(location, ports);
  for (let at = 0, size = 1; at < awaited.length; at += size, size *= 2) {
    const some = awaited.slice(at, at + size);
    const found = await Promise.all(some.map(({ name }) => cluster.attachment(name, ports.signal)));
    const standing = some.filter(({ uid }, nth) => found[nth]?.uid === uid);
    if (standing.length === 0) continue;
    const { mono } = ports.clock.now();
    const isOver = some.some((seen, nth) => {
      const one = found[nth];
      return one?.uid === seen.uid && concerns(one, seen, until, mono);
    });
    return isOver ? [] : [...standing, ...awaited.slice(at + size)];
  }
  return [];
};
