import type { SharedRunOptions } from '../../fencing/loop/run.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import type { Cloud } from '../../fencing/model/cloud.ts';
import type { Cluster, SuspectNode } from '../../fencing/model/cluster.ts';
import type { IdentitySource, MachineFacts } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { cloudThat, clusterThat, portsThat } from './ports.ts';
import { machine, record } from './view-builder.ts';

/** A sweep over one cluster or more. Its runs end at once, unless a test gives them time. */

export const named = (value: string, source: IdentitySource['source'] = 'providerID'): IdentitySource => ({
  source,
  driver: null,
  value,
});

export const suspect = (name: string, change: Partial<SuspectNode> = {}): SuspectNode => ({
  because: 'lease-stale',
  node: name,
  identitySources: [named(name.replace('node', 'm'))],
  record: null,
  marked: null,
  attachments: [],
  ...change,
});

export const fencing = (change: Partial<FenceRecord> = {}) => ({ because: 'fenced' as const, record: record(change) });
export const parked = fencing({ phase: 'fenced', generation: 'boot-1' });

export interface Stage {
  readonly looks: (readonly string[])[];
  readonly showing: (readonly string[])[];
  readonly applied: unknown[];
  readonly ports: Ports;
}

export const stage = (
  suspects: readonly SuspectNode[],
  power: Record<string, Partial<MachineFacts>> = {},
  {
    cloud = {},
    blue = {},
    others = [],
  }: { cloud?: Partial<Cloud>; blue?: Partial<Cluster>; others?: readonly Cluster[] } = {},
): Stage => {
  const [looks, showing, applied]: [string[][], string[][], unknown[]] = [[], [], []];
  const look: Cloud['look'] = async (ids) => {
    looks.push([...ids]);
    return ids.flatMap((id) => (power[id] ? [machine({ machine: id, ...power[id] })] : []));
  };
  const cluster: Cluster = clusterThat({
    suspects: async () => suspects,
    identify: async () => null,
    concludeUnless: async (machines) => void showing.push([...machines].toSorted()),
    apply: async (step) => {
      applied.push(step);
      return 'done';
    },
    ...blue,
  });
  return {
    looks,
    showing,
    applied,
    ports: portsThat({ cloud: cloudThat({ look, ...cloud }), clusters: [cluster, ...others] }),
  };
};

export const swept = ({ ports }: Stage, change: Partial<SharedRunOptions> = {}) => {
  let runs = 0;
  const newRunId = () => `run-${String((runs += 1)).padStart(3, '0')}`;
  return sweep({ policy: defaultPolicy, deadline: 0, newRunId, ...change }, ports);
};

/** Another cluster, without suspects. */
export const empty: Cluster = clusterThat({
  name: 'green',
  suspects: async () => [],
  concludeUnless: async () => undefined,
});
