import type { RunState } from '../../fencing/loop/state.ts';
import { reduce } from '../../fencing/loop/reduce.ts';
import type { Command } from '../../fencing/loop/command.ts';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { executeCommand, run } from '../../fencing/loop/run.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { stopped, type Incident } from './incidents.ts';
import { freshRun, portsOver, type Troubles } from './ports.ts';

/** The moment before one command: what the run knew, and a copy of the world. */
export interface CommandMoment {
  readonly known: RunState;
  readonly command: Exclude<Command, { do: 'finish' }>;
  readonly world: AwsWorld;
}

export interface Walk {
  readonly crossings: readonly CommandMoment[];
  readonly outcome: Outcome;
}

/** Executes one more command in the given world. */
export const stepOn = async (known: RunState, command: CommandMoment['command'], ports: Ports): Promise<RunState> => {
  const answer = await executeCommand(command, known, ports);
  return reduce(known, command, answer, ports.clock.now());
};

/** Runs to the end and keeps the moment before each command, so that a test can continue from there in another way. */
export const walk = async (world: AwsWorld, start: RunState): Promise<Walk> => {
  const ports = portsOver(world);
  const crossings: CommandMoment[] = [];
  let known = start;
  for (;;) {
    const command = nextCommand(known, ports.clock.now());
    if (command.do === 'finish') return { crossings, outcome: command.outcome };
    crossings.push({ known, command, world: world.fork() });
    known = await stepOn(known, command, ports);
  }
};

/** A machine has stopped, and the run that was fencing it has died right after its mark. */
export const diedAfterMark = async (): Promise<Incident> => {
  const { world, scene } = stopped();
  const { crossings } = await walk(world, freshRun(world, portsOver(world), { machine: scene.holder }));
  const at = crossings.find(({ known }) => known.record?.phase === 'fencing');
  if (!at) throw new Error('the fence never began');
  return { world: at.world, scene };
};

/** Continues in another world with what the run knew: the process was frozen, and continues. */
export const thaw = (known: RunState, world: AwsWorld, troubles?: Troubles): Promise<Outcome> =>
  run(known, portsOver(world, troubles));
