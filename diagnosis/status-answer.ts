import { onOneLine, shorten } from '../fencing/model/reason.ts';
import { formatDuration, formatTime } from './rules/rule.ts';
import type { ClusterStatus, FenceStatus, Status } from './status.ts';

/** What people and programs read of the status. docs/cli.md documents the JSON. */

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

/** A kubelet may write the record, so its words must not control the terminal. */
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
    `  cap: ${begun} of at most ${limits.begun} fenced within 15 minutes (${nodes} Nodes), ${unfinished} of at most ${limits.unfinished} unfinished${extra}`,
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
    ...stopping.map(({ node, since }) => plain(`  Node ${node}: its machine stops since ${formatTime(since)}`)),
    capLine(cap),
  ];
};

/** Returns the status in words, one line each. */
export const statusLines = ({ clusters, unreachable, policy, now }: Status): readonly string[] => [
  ...(policy.paused === null ? [] : [plain(`PAUSED in every cluster by the configuration: ${policy.paused}`)]),
  ...(policy.shadow ? ['SHADOW MODE: Cloudfence begins nothing'] : []),
  ...clusters.flatMap((status) => clusterLines(status, now)),
  ...unreachable.map(({ cluster, error }) => plain(`cluster ${cluster}: UNREACHABLE: ${error.message}`)),
];
