import { run } from '../../fencing/loop/run.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import type { Incident } from '../../incidents/incident.ts';
import { joined } from '../../incidents/join.ts';
import { incidentOfRun, type RunTrigger, emptyRunLog, logged } from '../../incidents/of-run.ts';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import type { Incident as Scene } from '../simulation/incidents.ts';
import { freshRun, portsOver, type Wanted } from '../simulation/ports.ts';

/** A run in the sandbox, and what it shows of an incident. */

export const eventTrigger = (event: string, says: string, happened: string): RunTrigger => ({
  trigger: { kind: 'event', event, says, happened },
  account: SANDBOX_ACCOUNT,
  region: SANDBOX_REGION,
});

export const sweepTrigger: RunTrigger = {
  trigger: { kind: 'sweep', event: null, says: null, happened: null },
  account: null,
  region: null,
};

export interface Recorded {
  readonly outcome: Outcome;
  /** What this run alone shows, and the incident after it. */
  readonly shown: Incident | null;
  readonly incident: Incident | null;
}

export const record = async (
  { world, scene }: Scene,
  trigger: RunTrigger,
  before: Incident | null = null,
  wanted: Partial<Wanted> = {},
): Promise<Recorded> => {
  const ports = portsOver(world);
  const start = freshRun(world, ports, { machine: scene.holder, ...wanted });
  let log = emptyRunLog(start);
  const outcome = await run(start, {
    ...ports,
    observe: (command, result, known) => {
      log = logged(log, command, result, known);
    },
  });
  const shown = incidentOfRun(outcome, log, trigger, world.now());
  return { outcome, shown, incident: shown ? joined(before, shown) : before };
};
