import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { InvalidInput } from '../../fencing/model/errors.ts';
import type { Fault, Hint, ParsedEvent } from '../../fencing/model/hint.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import { runAll } from '../../fencing/loop/run.ts';
import { newRunId } from '../../config/system.ts';
import { describeUnreadable } from '../../config/settings.ts';
import { printOutcomes, printOutcome, type Terminal } from '../answer.ts';
import { keepByHand } from '../incident-place.ts';
import { openCloudsOf, withSession, type CommonOptions } from '../session.ts';

const inWords = ({ what, where, remedy }: Fault): string => `${where}: ${what}; ${remedy}`;

const refuseFaults = ({ faults }: ParsedEvent): void => {
  if (faults.length > 0)
    throw new InvalidInput(
      `the event cannot be replayed:\n${faults.map((fault) => `  - ${inWords(fault)}`).join('\n')}`,
    );
};

/** Reads the event from a file. @throws InvalidInput */
const eventText = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new InvalidInput(describeUnreadable(file, 'the event', cause), { cause });
  }
};

/**
 * Handles an event, or many, as if it had just arrived. If a part of it cannot be read, the command names that part and
 * does nothing at all.
 * `dryRun` may be anywhere in the event.
 */
export const replay = (file: string, options: CommonOptions, terminal: Terminal): Promise<number> =>
  withSession(options, terminal, async (session) => {
    const { openedCloud, policy, deadline, ports } = session;
    const raw = file === '-' ? await text(addAbortSignal(ports.signal, terminal.input())) : await eventText(file);
    const reading = openedCloud.readHints(raw);
    refuseFaults(reading);
    for (const { what } of reading.ignored) terminal.complain(`nothing to do for ${what}`);
    const isDry = ({ dryRun }: Hint): boolean => policy.dryRun || dryRun === true;
    const machinesOf = async (hints: readonly Hint[]) =>
      openCloudsOf(
        hints.map(({ machine }) => machine),
        session,
      );
    const [dry, inEarnest] = await Promise.all([
      machinesOf(reading.hints.filter(isDry)),
      machinesOf(reading.hints.filter((hint) => !isDry(hint))),
    ]);
    if (dry.length + inEarnest.length === 0 && reading.hints.length > 0)
      terminal.complain('nothing to do: the machines that the event names no longer exist');
    const lookAt = (machines: readonly MachineId[], dryRun: boolean) =>
      runAll(machines, { policy: { ...policy, dryRun }, deadline, newRunId }, ports);
    const outcomes = (await Promise.all([lookAt(inEarnest, false), lookAt(dry, true)])).flat();
    const json = options.json ?? false;
    const [only, second] = outcomes;
    const code = only && !second ? printOutcome(only, json, terminal) : printOutcomes(outcomes, json, terminal);
    await keepByHand('replay', outcomes, session, terminal);
    return code;
  });
