import type { MachineId } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { longWaits } from '../fencing/model/reason.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import { runAll, run } from '../fencing/loop/run.ts';
import { startRun } from '../fencing/loop/state.ts';
import { newRunId } from './system.ts';

/** Dry runs for people who ask what Cloudfence would do, with the policy of this install. */

export interface DryRunTools {
  readonly policy: Policy;
  readonly ports: Omit<Ports, 'observe'>;
  /** When the time is up, in ms of the monotonic clock. */
  readonly deadline: number;
}

/** How long a dry run may take (ms). If it would wait longer, it reports what it waits for. */
const DRY_RUN_LASTS_MS = 20_000;

const limitsOf = ({ policy, ports, deadline }: DryRunTools) => ({
  policy: { ...policy, dryRun: true },
  deadline: Math.min(deadline, ports.clock.now().mono + DRY_RUN_LASTS_MS),
});

const withoutObserver = ({ ports }: DryRunTools): Ports => ({ ...ports, observe: () => undefined });

/** What a fence of the machine would do. */
export const dryRunFence = async (machine: MachineId, tools: DryRunTools): Promise<Outcome | null> => {
  const [outcome] = await runAll([machine], { ...limitsOf(tools), newRunId }, withoutObserver(tools));
  return outcome ?? null;
};

/** What a release of the machine would do in one cluster. It does not wait for a release, and says what that lacks. */
export const dryRunRelease = (
  { cluster, machine }: { readonly cluster: string; readonly machine: MachineId },
  tools: DryRunTools,
): Promise<Outcome> => {
  const ports = withoutObserver(tools);
  return run(
    startRun({
      ...limitsOf(tools),
      request: { machine, intent: 'release', accepted: null, vouched: null },
      handsOver: longWaits,
      identityRules: ports.cloud,
      runId: newRunId(),
    }),
    { ...ports, clusters: ports.clusters.filter(({ name }) => name === cluster) },
  );
};
