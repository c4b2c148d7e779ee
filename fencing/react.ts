import pLimit from 'p-limit';
import { CloudfenceError } from './errors.ts';
import { begin, type Read, type Start } from './known.ts';
import type { MachineFacts, MachineId } from './machine.ts';
import type { Outcome } from './outcome.ts';
import { run, type Ports } from './run.ts';

/** What all runs of one occasion share. */
export interface Occasion extends Omit<Start, 'request' | 'runId' | 'reading' | 'machine'> {
  readonly newRunId: () => string;
}

/** Runs side by side: few enough for the APIs, enough that one slow machine does not hold up the rest. */
const AT_A_TIME = 5;

/** One live look at all machines of an occasion. A look that fails is left to each run, which tries again and says why. */
const lookAtAll = async (machines: readonly MachineId[], { cloud, clock, signal }: Ports): Promise<readonly Read<MachineFacts>[]> => {
  const askedAt = clock.now();
  try {
    const facts = await cloud.look(machines, { disks: true }, signal);
    const gotAt = clock.now().mono;
    return facts.map((says) => ({ says, askedAt, gotAt }));
  } catch (error) {
    if (error instanceof CloudfenceError) return [];
    throw error;
  }
};

/** Looks at each machine once, however often it is named, and brings each to an end, a wait or a refusal. */
export const react = async (named: readonly MachineId[], occasion: Occasion, ports: Ports): Promise<readonly Outcome[]> => {
  const machines = [...new Set(named)];
  const reads = machines.length > 1 ? await lookAtAll(machines, ports) : [];
  const limit = pLimit(AT_A_TIME);
  return Promise.all(machines.map((machine) => limit(() => reactToOne(machine, reads, occasion, ports))));
};

const reactToOne = (machine: MachineId, reads: readonly Read<MachineFacts>[], { newRunId, ...occasion }: Occasion, ports: Ports): Promise<Outcome> =>
  run(
    begin({
      ...occasion,
      request: { machine, intent: 'react', accepted: null },
      reading: ports.cloud,
      runId: newRunId(),
      machine: reads.find(({ says }) => says.machine === machine) ?? null,
    }),
    ports,
  );
