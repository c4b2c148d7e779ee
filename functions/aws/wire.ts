import type { Policy } from '../../fencing/policy.ts';
import type { Ports } from '../../fencing/run.ts';
import { readEnvironment } from '../../wiring/environment.ts';
import { openAws } from '../../wiring/open-aws.ts';
import { openClusters } from '../../wiring/open-clusters.ts';
import { newRunId } from '../../wiring/run-id.ts';
import { policyOf } from '../../wiring/schema.ts';
import { loadSettings } from '../../wiring/settings.ts';
import { systemClock } from '../../wiring/system-clock.ts';

/** All that a function of ours is made of; tests hand in another. */
export interface Wiring {
  readonly ports: Omit<Ports, 'signal' | 'observe'>;
  readonly policy: Policy;
  readonly newRunId: () => string;
  readonly log: (line: object) => void;
}

const wire = async (): Promise<Wiring> => {
  const settings = await loadSettings(readEnvironment());
  const kit = await openAws({ region: settings.region ?? null });
  const opened = await openClusters(settings.clusters, kit.managedCluster, new AbortController().signal);
  return {
    ports: { cloud: kit.cloud, clusters: opened.map(({ cluster }) => cluster), clock: systemClock() },
    policy: policyOf(settings, false),
    newRunId,
    log: (line) => console.log(JSON.stringify(line)),
  };
};

/** Wires on the first event and keeps what worked; what failed is tried anew at the next event. */
export const wireOnce = (): (() => Promise<Wiring>) => {
  let wired: Promise<Wiring> | null = null;
  return () => {
    wired ??= wire().catch((error: unknown) => {
      wired = null;
      throw error;
    });
    return wired;
  };
};
