import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { InvalidInput } from '../../fencing/model/errors.ts';
import type { Fault, Hint, ParsedEvent } from '../../fencing/model/cloud.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import { runAll } from '../../fencing/loop/run.ts';
import { newRunId } from '../../config/environment.ts';
import { describeUnreadable } from '../../config/settings.ts';
import { printOutcomes, printOutcome, type Terminal, outcomeOfError } from '../answer.ts';
import { storeCommandIncidents } from '../incident-place.ts';
import { openCloudsOf, withSession, type CommonOptions, type Session } from '../session.ts';
import { machineNamed, type NamedMachine, listFences, refuseUnknownMachine } from '../../diagnosis/by-name.ts';
import { releaseFenced, releaseNamed, type ReleaseTools, statementOf } from '../../app/diagnose.ts';
import { searchPorts } from '../../app/search-ports.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { beginsNothing } from '../../fencing/model/policy.ts';
import { sweep as sweepAll, type SweepOutcome } from '../../fencing/sweep/sweep.ts';

/** Prints the machine to which a name led, so that a person sees about which machine Cloudfence asks. */
const sayWhere = (target: string, { machine, cluster, node }: NamedMachine, { complain }: Terminal): void => {
  if (target === machine) return;
  const place = [node === null ? '' : ` on Node ${node}`, cluster === null ? '' : ` in cluster ${cluster}`].join('');
  complain(`${target} leads to ${machine}${place}`);
};

/** Looks at one machine and fences it if it is off. The target is its id, or an object that leads to it. */
export const fence = (target: string, options: CommonOptions, terminal: Terminal): Promise<number> =>
  withSession(options, terminal, async (session) => {
    const { policy, deadline, ports } = session;
    const named = await machineNamed(target, searchPorts({ ...session, openClusters: session.clusters }));
    sayWhere(target, named, terminal);
    await openCloudsOf([named.machine], session);
    const [outcome] = await runAll([named.machine], { policy, deadline, newRunId }, ports);
    if (!outcome) throw new InvalidInput('name an instance or a Node');
    refuseUnknownMachine(outcome);
    const code = printOutcome(outcome, options.json ?? false, terminal);
    await storeCommandIncidents('fence', [outcome], session, terminal);
    return code;
  });

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
 * Handles an event, or many, as if it had just arrived. If a part of it cannot be read, the command reports that part
 * and does nothing. `dryRun` may be anywhere in the event.
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
    const [dry, real] = await Promise.all([
      machinesOf(reading.hints.filter(isDry)),
      machinesOf(reading.hints.filter((hint) => !isDry(hint))),
    ]);
    if (dry.length + real.length === 0 && reading.hints.length > 0)
      terminal.complain('nothing to do: the machines that the event names no longer exist');
    const lookAt = (machines: readonly MachineId[], dryRun: boolean) =>
      runAll(machines, { policy: { ...policy, dryRun }, deadline, newRunId }, ports);
    const outcomes = (await Promise.all([lookAt(real, false), lookAt(dry, true)])).flat();
    const json = options.json ?? false;
    const [only, second] = outcomes;
    const code = only && !second ? printOutcome(only, json, terminal) : printOutcomes(outcomes, json, terminal);
    await storeCommandIncidents('replay', outcomes, session, terminal);
    return code;
  });

/** Returns the outcome for a cluster that did not answer. This is also a result: the state of its Nodes is unknown. */
const unansweredBy = ({ cluster, error }: SweepOutcome['unreachable'][number], dryRun: boolean): Outcome => ({
  ...outcomeOfError(error, dryRun),
  cluster,
});

export const sweep = (options: CommonOptions, terminal: Terminal): Promise<number> =>
  withSession(options, terminal, async (session) => {
    const { policy, deadline, ports } = session;
    const { outcomes, unreachable } = await sweepAll({ policy, deadline, newRunId }, ports);
    const code = printOutcomes(
      [...outcomes, ...unreachable.map((other) => unansweredBy(other, beginsNothing(policy)))],
      options.json ?? false,
      terminal,
    );
    await storeCommandIncidents('sweep', outcomes, session, terminal);
    return code;
  });

export interface ReleaseOptions extends CommonOptions {
  /** The reason of a person who has checked the machine. */
  readonly accept?: string;
  readonly all?: boolean;
}

const refuseMisuse = (target: string | undefined, { accept, all = false }: ReleaseOptions): void => {
  if (target !== undefined && all) throw new InvalidInput('name a Node, or give --all, not both');
  if (target === undefined && !all) throw new InvalidInput('name a Node, or give --all');
  if (accept?.trim() === '') throw new InvalidInput('--accept requires a reason: say what you checked');
};

/** If nothing identifies the machine of one Node, the other fences are still released. */
const toolsOf = (session: Session): ReleaseTools => ({
  ...session,
  openClusters: session.clusters,
  newRunId,
  prepare: (machine) => openCloudsOf([machine], session),
  failed: (error, { cluster, node }) => ({
    ...outcomeOfError(error, beginsNothing(session.policy)),
    cluster,
    node,
  }),
});

/** Returns the outcome for the target, or the outcomes of all fences. */
const released = async (
  target: string | undefined,
  accept: string | null,
  session: Session,
): Promise<readonly Outcome[]> => {
  const accepted = statementOf(accept, session.ports);
  const tools = toolsOf(session);
  if (target !== undefined) return [await releaseNamed(target, accepted, tools)];
  const fenced = await listFences(searchPorts(tools));
  return Promise.all(fenced.map((one) => releaseFenced(one, accepted, tools)));
};

/** Releases fences, with the usual proof or because a person confirms the return. */
export const release = async (
  target: string | undefined,
  options: ReleaseOptions,
  terminal: Terminal,
): Promise<number> => {
  refuseMisuse(target, options);
  const { json = false, accept = null } = options;
  return withSession(options, terminal, async (session) => {
    const outcomes = await released(target, accept, session);
    const [only] = outcomes;
    const code =
      target !== undefined && only ? printOutcome(only, json, terminal) : printOutcomes(outcomes, json, terminal);
    await storeCommandIncidents('release', outcomes, session, terminal);
    return code;
  });
};
