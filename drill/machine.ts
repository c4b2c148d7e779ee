import type { Cloud } from '../fencing/model/cloud.ts';
import { asCloudfenceError, PermissionDenied, ProofExpired, Refused } from '../fencing/model/errors.ts';
import type { MachineFacts, MachineTarget } from '../fencing/model/machine.ts';
import { permitUntil, type Permit, PROOF_LASTS_MS } from '../fencing/model/permit.ts';
import type { Clock } from '../fencing/loop/ports.ts';
import type { DrillCloud } from './ports.ts';

/** Stops and starts the one machine of a drill: by its exact id, and only right after a look that allows it. */

export interface MachineTools {
  readonly cloud: Pick<Cloud, 'look' | 'powerOff'>;
  readonly drillCloud: Pick<DrillCloud, 'start'>;
  readonly clock: Clock;
}

const POLL_MS = 2_000;
const TRIES = 3;

/**
 * Looks at the machine.
 * @throws Refused if the name belongs to another machine by now
 */
export const lookAtMachine = async (
  target: MachineTarget,
  { cloud }: Pick<MachineTools, 'cloud'>,
  signal: AbortSignal,
): Promise<MachineFacts> => {
  const [facts] = await cloud.look([target.machine], { disks: false }, signal);
  if (!facts) throw new Refused(`the cloud does not answer for ${target.machine}`);
  const now = facts.incarnation?.id ?? null;
  if (facts.power !== 'missing' && now !== target.incarnation)
    throw new Refused(`${target.machine} is another machine now (${now ?? 'without an id'})`);
  return facts;
};

/** Runs `work` again if its permit ended before the call left. */
const withPermit = async <T>(
  { clock }: Pick<MachineTools, 'clock'>,
  work: (permit: Permit) => Promise<T>,
): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work(permitUntil(clock.now().mono + PROOF_LASTS_MS, clock));
    } catch (error) {
      if (!(error instanceof ProofExpired) || tries >= TRIES) throw error;
    }
  }
};

/**
 * Stops the machine hard, as a failure would. `confirm` looks at everything once more and throws if the machine must
 * not be stopped. The call leaves within two seconds of the beginning of that look, or not at all. `leaves` is called
 * right before the request.
 */
export const stopMachine = (
  target: MachineTarget,
  tools: MachineTools,
  confirm: () => Promise<void>,
  leaves: () => void,
  signal: AbortSignal,
): Promise<void> =>
  withPermit(tools, async (permit) => {
    await confirm();
    permit.check();
    leaves();
    await tools.cloud.powerOff(target, permit, signal);
  });

const startOnce = (target: MachineTarget, tools: MachineTools, signal: AbortSignal): Promise<MachineFacts> =>
  withPermit(tools, async (permit) => {
    const facts = await lookAtMachine(target, tools, signal);
    const isOff = facts.power === 'off' || facts.power === 'off-if-repeated';
    if (isOff && !facts.forGood) await tools.drillCloud.start(target, permit, signal);
    return facts;
  });

/** Looks at which a machine, whose stop may not have left, has to run until that is certain. */
const RUNS_FOR = 5;

/**
 * Starts the machine, and waits until the cloud says that it starts or runs. Tries again until `signal` ends.
 * @throws PermissionDenied, Refused if the machine is gone for good, or the reason of `signal`
 */
export const startMachine = async (target: MachineTarget, tools: MachineTools, signal: AbortSignal): Promise<void> => {
  let asked = false;
  let running = 0;
  for (;;) {
    const facts = await startOnce(target, tools, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      const known = asCloudfenceError(error);
      if (known instanceof PermissionDenied || !known.retry) throw known;
      return null;
    });
    if (facts?.forGood || facts?.power === 'missing')
      throw new Refused(`${target.machine} is gone, and cannot be started`);
    if (facts?.power === 'off' || facts?.power === 'off-if-repeated') asked = true;
    running = facts?.power === 'running' || facts?.power === 'starting' ? running + 1 : 0;
    if (running >= (asked ? 1 : RUNS_FOR)) return;
    await tools.clock.sleep(POLL_MS, signal);
  }
};
