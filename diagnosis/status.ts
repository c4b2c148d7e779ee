import pLimit from 'p-limit';
import type { NodeFacts } from '../fencing/model/cluster-facts.ts';
import { CloudfenceError } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { reasonOf } from '../fencing/loop/ending.ts';
import type { OutcomeKind } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { because, type Reason, onOneLine, pluralize, shorten } from '../fencing/model/reason.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import { isFenced } from '../fencing/rules/release.ts';
import type { ClusterStanding, StatusPorts } from './ports.ts';
import { formatDuration, formatTime } from './rules/rule.ts';

/**
 * The present state of every cluster: fences, tombstones, the cap, and the pause. Only reads. docs/cli.md documents the
 * JSON.
 */

export interface FenceStatus {
  readonly node: string;
  readonly ready: NodeFacts['ready'];
  /** Null if nothing names the machine, or if several machines are named. */
  readonly machine: MachineId | null;
  /** Null if the record is lost or unreadable. */
  readonly record: FenceRecord | null;
  readonly taints: NodeFacts['taints'];
  /** The result of a release in a dry run, and what the release waits for. */
  readonly release: { readonly outcome: OutcomeKind; readonly reason: Reason };
}

interface ClusterStatus extends Omit<ClusterStanding, 'nodes'> {
  readonly cluster: string;
  readonly fences: readonly FenceStatus[];
  /** Fences that a person removed by hand. */
  readonly tombstones: readonly { readonly node: string; readonly fence: string }[];
  /** Machines that were seen stopping (epoch ms). */
  readonly stopping: readonly { readonly node: string; readonly since: number }[];
}

export interface Status {
  readonly clusters: readonly ClusterStatus[];
  /** Clusters that did not answer, with the reason. */
  readonly unreachable: readonly { readonly cluster: string; readonly error: CloudfenceError }[];
  readonly policy: Pick<Policy, 'paused' | 'shadow' | 'cap'>;
  /** Epoch ms. */
  readonly now: number;
}

const machineOn = ({ record, identitySources }: NodeFacts, { machineOf }: StatusPorts): MachineId | null => {
  if (record) return record.machine;
  const [machine, ...more] = new Set(identitySources.map(machineOf).filter((named) => named !== null));
  return more.length === 0 ? (machine ?? null) : null;
};

const rehearsed = async (
  cluster: string,
  machine: MachineId | null,
  { rehearseRelease }: StatusPorts,
): Promise<FenceStatus['release']> => {
  if (machine === null)
    return { outcome: 'refused', reason: because('identity-unproven', 'nothing on the Node names one machine') };
  try {
    const { outcome, reason } = await rehearseRelease({ cluster, machine });
    return { outcome, reason };
  } catch (error) {
    if (error instanceof CloudfenceError) return { outcome: 'failed', reason: reasonOf(error) };
    throw error;
  }
};

/** The number of concurrent dry runs of releases, because each reads the cloud and the cluster. */
const AT_A_TIME = 5;

const fenceStatus = async (cluster: string, node: NodeFacts, ports: StatusPorts): Promise<FenceStatus> => {
  const { name, ready, record, taints } = node;
  const machine = machineOn(node, ports);
  return { node: name, ready, machine, record, taints, release: await rehearsed(cluster, machine, ports) };
};

const clusterStatus = async (
  cluster: string,
  { nodes, paused, cap }: ClusterStanding,
  ports: StatusPorts,
): Promise<ClusterStatus> => {
  const limit = pLimit(AT_A_TIME);
  const fenced = nodes.filter(isFenced);
  return {
    cluster,
    paused,
    cap,
    fences: await Promise.all(fenced.map((node) => limit(() => fenceStatus(cluster, node, ports)))),
    tombstones: nodes.flatMap(({ name, tombstone }) => (tombstone ? [{ node: name, fence: tombstone.fence }] : [])),
    stopping: nodes.flatMap(({ name, stopping }) => (stopping ? [{ node: name, since: stopping.at }] : [])),
  };
};

/** Returns the state of every cluster that answers, and names the other clusters. */
export const readStatus = async (ports: StatusPorts): Promise<Status> => {
  const { clusters, policy, inTime, signal } = ports;
  const unreachable: Status['unreachable'][number][] = [];
  const answers = await Promise.all(
    clusters.map(async ({ name, read }) => {
      try {
        return await clusterStatus(name, await inTime(() => read(policy.cap, signal)), ports);
      } catch (error) {
        if (!(error instanceof CloudfenceError)) throw error;
        unreachable.push({ cluster: name, error });
        return null;
      }
    }),
  );
  return {
    clusters: answers.filter((answer) => answer !== null),
    unreachable,
    policy,
    now: ports.now(),
  };
};

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

const fenceJson = ({ node, ready, machine, record, taints, release }: FenceStatus) => ({
  node,
  ready,
  machine,
  fence: record?.fence ?? null,
  phase: record?.phase ?? null,
  begun: record?.begun ?? null,
  vouched: record?.vouched ?? null,
  evidence: record?.evidence ?? {},
  taints: { outOfService: taints.ours, quarantine: taints.quarantine },
  release: { outcome: release.outcome, reason: `${release.reason.code}: ${release.reason.says}` },
});

const capJson = (cap: ClusterStatus['cap']) =>
  cap && {
    begun: cap.begun,
    unfinished: cap.unfinished,
    limits: cap.limits,
    nodes: cap.nodes,
    opens: cap.opens === null ? null : time(cap.opens),
    override: cap.override && { until: time(cap.override.until), reason: cap.override.reason },
  };

const clusterJson = ({ cluster, paused, cap, fences, tombstones, stopping }: ClusterStatus) => ({
  cluster,
  paused,
  fences: fences.map(fenceJson),
  tombstones: tombstones.map(({ node, fence }) => ({ node, fence })),
  stopping: stopping.map(({ node, since }) => ({ node, since: time(since) })),
  cap: capJson(cap),
});

export const statusJson = ({ clusters, unreachable, policy, now }: Status) => ({
  at: time(now),
  paused: policy.paused,
  shadow: policy.shadow,
  clusters: clusters.map(clusterJson),
  unreachable: unreachable.map(({ cluster, error }) => ({ cluster, says: error.message })),
});

export type StatusJson = ReturnType<typeof statusJson>;

const LONGEST_LINE = 400;

/** A kubelet may write the record, so its text must not control the terminal. */
const plain = (text: string): string => shorten(onOneLine(text), LONGEST_LINE);

const phases = {
  fencing: 'frees what the machine held',
  fenced: 'everything is free, and the quarantine stays until a fresh boot is proven',
  lifted: 'the machine is no longer off, and the quarantine stays until a fresh boot is proven',
  releasing: 'a person releases it',
} as const;

const LABEL = 11;
const row = (label: string, text: string): string => plain(`    ${label.padEnd(LABEL)}${text}`);

const recordLines = ({ record }: FenceStatus, now: number): readonly string[] => {
  if (record === null) return [row('record', 'it is lost or cannot be read')];
  const evidence = Object.entries(record.evidence).map(([key, value]) => `${key} ${value}`);
  return [
    row('phase', `${record.phase}: ${phases[record.phase]}`),
    row('begun', `${record.begun}, ${formatDuration(now - Date.parse(record.begun))} ago, fence ${record.fence}`),
    row('evidence', evidence.join(', ') || 'none'),
    ...(record.vouched === null ? [] : [row('vouched', record.vouched)]),
  ];
};

const inWords = { True: 'Ready', False: 'NotReady', Unknown: 'NotReady (unknown)' } as const;

const taintsOf = ({ taints }: FenceStatus): string =>
  [taints.ours ? 'out-of-service' : '', taints.quarantine ? 'quarantine' : ''].filter(Boolean).join(' and ') || 'none';

const releaseLine = ({ release: { outcome, reason } }: FenceStatus): string =>
  outcome === 'would-release'
    ? row('release', 'nothing is missing: the next sweep releases the Node')
    : row('release', `${reason.says} (${reason.code})`);

const fenceLines = (fence: FenceStatus, now: number): readonly string[] => [
  plain(`  Node ${fence.node}  ${inWords[fence.ready]}, machine ${fence.machine ?? 'unknown'}`),
  ...recordLines(fence, now),
  row('taints', taintsOf(fence)),
  releaseLine(fence),
];

const capLine = (cap: ClusterStatus['cap']): string => {
  if (cap === null) return '  cap: there is no ledger, so nothing is fenced: apply infra/kubernetes/rbac.yaml';
  const { begun, unfinished, limits, nodes, override, opens } = cap;
  const extra = override
    ? `; overridden until ${time(override.until)}: ${override.reason}`
    : opens === null
      ? ''
      : `; the next fence can begin at ${time(opens)}`;
  return plain(
    `  cap: ${begun} of at most ${limits.begun} fenced within 15 minutes (${pluralize(nodes, 'Node')}), ` +
      `${unfinished} of at most ${limits.unfinished} unfinished${extra}`,
  );
};

const clusterLines = (status: ClusterStatus, now: number): readonly string[] => {
  const { cluster, paused, fences, tombstones, stopping, cap } = status;
  return [
    `cluster ${cluster}: ${fences.length === 0 ? 'no Node is fenced' : `fenced Nodes: ${fences.length}`}`,
    ...(paused === null ? [] : [plain(`  PAUSED: ${paused}`)]),
    ...fences.flatMap((fence) => fenceLines(fence, now)),
    ...tombstones.map(({ node, fence }) =>
      plain(`  Node ${node}: a person removed fence ${fence}; Cloudfence does not fence the Node again in this boot`),
    ),
    ...stopping.map(({ node, since }) =>
      plain(`  Node ${node}: its machine has been stopping since ${formatTime(since)}`),
    ),
    capLine(cap),
  ];
};

/** Returns the status as text, one line each. */
export const statusLines = ({ clusters, unreachable, policy, now }: Status): readonly string[] => [
  ...(policy.paused === null ? [] : [plain(`PAUSED in every cluster by the configuration: ${policy.paused}`)]),
  ...(policy.shadow ? ['SHADOW MODE: Cloudfence begins nothing'] : []),
  ...clusters.flatMap((status) => clusterLines(status, now)),
  ...unreachable.map(({ cluster, error }) => plain(`cluster ${cluster}: UNREACHABLE: ${error.message}`)),
];
