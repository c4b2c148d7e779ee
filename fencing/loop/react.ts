import pLimit from 'p-limit';
import {
  startRun,
  type RunState,
  withMachineRead,
  type ClusterLocation,
  type Observation,
  type Start,
} from './state.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import type { Outcome, StepReport } from '../model/outcome.ts';
import type { Reason } from '../model/reason.ts';
import { run } from './run.ts';
import type { Ports } from './ports.ts';
import type { Moment } from '../rules/view.ts';

/** What all runs of one occasion share. */
export interface SharedRunOptions extends Omit<
  Start,
  'request' | 'runId' | 'identityRules' | 'location' | 'attachments' | 'steps'
> {
  readonly newRunId: () => string;
  /**
   * The time that one run may take (ms). With it, runs that only wait leave time for the others. Without it, each run
   * may last until the common deadline.
   */
  readonly runLasts?: number;
  /** The reason of a person who vouches that the machines are off. */
  readonly vouched?: string | null;
}

/**
 * Where a machine was found just now. Its run looks there directly and verifies it, instead of searching all clusters.
 */
export interface LocationHint {
  /** Null if the machine was seen in more than one place. */
  readonly location: ClusterLocation | null;
  /** Why it may not be this Node, if several Nodes name the machine. Null otherwise. */
  readonly ambiguity: Reason | null;
  /** Attachments that name the machine if its Node is gone. */
  readonly attachments: readonly string[] | null;
  /** Steps that were taken there before the run. */
  readonly steps: readonly StepReport[];
}

/**
 * The number of runs side by side: few enough for the APIs, and enough that one slow machine does not hold up the rest.
 */
const AT_A_TIME = 5;

/** Reads all machines of an occasion in one live look. If the look fails, each run tries again and reports why. */
const lookAtAll = async (
  machines: readonly MachineId[],
  { cloud, clock, signal }: Ports,
): Promise<readonly Observation<MachineFacts>[]> => {
  const askedAt = clock.now();
  const facts = await cloud.look(machines, { disks: true }, signal).catch(() => []);
  const gotAt = clock.now().mono;
  return facts.map((says) => ({ says, askedAt, gotAt }));
};

/** Looks at each machine once, however often it is named, and brings each to an end, a wait, or a refusal. */
export const react = async (
  named: readonly MachineId[],
  occasion: SharedRunOptions,
  ports: Ports,
  locationHints: ReadonlyMap<MachineId, LocationHint> = new Map(),
): Promise<readonly Outcome[]> => {
  const machines = [...new Set(named)];
  const reads = machines.length > 1 ? await lookAtAll(machines, ports) : [];
  const limit = pLimit(AT_A_TIME);
  return Promise.all(
    machines.map((machine) => limit(() => run(startOf(machine, reads, occasion, locationHints, ports), ports))),
  );
};

const startOf = (
  machine: MachineId,
  reads: readonly Observation<MachineFacts>[],
  { newRunId, runLasts = Infinity, vouched = null, ...occasion }: SharedRunOptions,
  locationHints: ReadonlyMap<MachineId, LocationHint>,
  { cloud, clock }: Ports,
): RunState => {
  const known = startRun({
    ...occasion,
    ...locationHints.get(machine),
    deadline: Math.min(occasion.deadline, clock.now().mono + runLasts),
    request: { machine, intent: 'react', accepted: null, vouched },
    identityRules: cloud,
    runId: newRunId(),
  });
  const read = reads.find(({ says }) => says.machine === machine);
  return read ? withMachineRead(known, read, momentOf(read)) : known;
};

/**
 * Returns the moment at which the look was received. A run uses a shared look like one of its own: the first look that
 * says off begins the proof.
 */
const momentOf = ({ askedAt, gotAt }: Observation<MachineFacts>): Moment => ({
  wall: askedAt.wall + (gotAt - askedAt.mono),
  mono: gotAt,
});
