import {
  type AttachmentFacts,
  type SurveyOfClusters,
  type ClusterFacts,
  fenceInBoot,
  type NodeFacts,
  type OptOut,
  type PodFacts,
  type VolumeFacts,
  type VolumeLeft,
} from '../../fencing/model/cluster-facts.ts';
import { emptyMemory } from '../../fencing/loop/state.ts';
import type { Admission } from '../../fencing/model/ledger.ts';
import type { IdentitySource, MachineFacts, VolumeHandle } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import type { View } from '../../fencing/rules/view.ts';

/** One ordinary incident, which each case changes a little: machine m-1 of Node node-a has stopped under a database. */

export const NOW = Date.parse('2026-01-01T12:00:00Z');
export const ago = (ms: number): string => new Date(NOW - ms).toISOString();

export const machineOf = (source: IdentitySource): string | null =>
  source.value.startsWith('m-') ? source.value : null;
/** A systemUUID can be written in two ways. */
export const incarnationsOf = ({ source, value }: IdentitySource): readonly string[] =>
  source === 'systemUUID' ? [value, `${value}-swapped`] : [];
export const diskOf = (volume: VolumeHandle): string | null =>
  volume.handle.startsWith('disk-') ? volume.handle : null;

export const machine = (change: Partial<MachineFacts> = {}): MachineFacts => ({
  machine: 'm-1',
  incarnation: null,
  power: 'off',
  forGood: false,
  generation: 'boot-1',
  since: NOW - 30_000,
  nodeNames: ['node-a'],
  clusters: [],
  zone: 'zone-1',
  disks: [{ disk: 'disk-1', state: 'attached', keep: null }],
  evidence: { state: 'off' },
  ...change,
});

/** By default, an annotation of a Node or of a Pod. */
export const optOut = (says: string, by: OptOut['by'] = 'annotation'): OptOut => ({
  by,
  key: `opt-out-${by}`,
  says,
  remedy: `take ${by} off`,
});

/** The taints of a Node with nothing but our quarantine. */
export const PARKED = { outOfService: false, ours: false, quarantine: true } as const;

export const node = (change: Partial<NodeFacts> = {}): NodeFacts => ({
  name: 'node-a',
  uid: 'node-uid',
  resourceVersion: '7',
  bootID: 'boot-a',
  created: NOW - 86_400_000,
  ready: 'True',
  readySince: NOW - 3_600_000,
  deleting: false,
  zone: 'zone-1',
  controlPlane: false,
  identitySources: [{ source: 'providerID', driver: null, value: 'm-1' }],
  taints: { outOfService: false, ours: false, quarantine: false },
  untaint: 'take the taint off node-a',
  dropRecord: 'take the record off node-a',
  finalizers: [],
  owners: [],
  optOuts: [],
  label: null,
  taintedFor: null,
  tombstone: null,
  stopping: null,
  recordText: null,
  unmatchedSeal: null,
  record: null,
  strayRecord: null,
  ...change,
});

export const record = (change: Partial<FenceRecord> = {}): FenceRecord => ({
  version: 1,
  fence: 'run.1',
  phase: 'fencing',
  cloud: 'a-cloud',
  machine: 'm-1',
  generation: 'boot-1',
  node: 'node-a',
  nodeUid: 'node-uid',
  bootID: 'boot-a',
  lease: ago(20_000),
  outOfService: 'ours',
  begun: ago(5_000),
  released: null,
  renewed: null,
  vouched: null,
  evidence: {},
  volumes: [{ driver: 'a-driver', handle: 'disk-1', persistentVolume: 'pv-1', attachment: 'csi-1' }],
  pods: [{ namespace: 'default', name: 'db-0', uid: 'pod-uid' }],
  recurring: [],
  ...change,
});

/** The volumes of that record, if their disks were attached when the fence began. */
export const attachedAtMark = record().volumes.map((volume) => ({ ...volume, attached: true }));

export const marked = (change: Partial<FenceRecord> = {}, nodeChange: Partial<NodeFacts> = {}): NodeFacts => {
  const written = record(change);
  const ours = written.outOfService === 'ours' && written.released === null;
  const taints = { outOfService: ours || written.outOfService === 'foreign', ours, quarantine: true };
  return node({ record: written, recordText: JSON.stringify(written), label: written.fence, taints, ...nodeChange });
};

export const pod = (change: Partial<PodFacts> = {}): PodFacts => ({
  namespace: 'default',
  name: 'db-0',
  uid: 'pod-uid',
  owner: null,
  priority: 0,
  kind: 'other',
  finished: false,
  deleting: false,
  finalizers: false,
  tolerates: false,
  optOut: null,
  volumes: ['a-driver^disk-1'],
  unresolved: [],
  ...change,
});

export const attachment = (change: Partial<AttachmentFacts> = {}): AttachmentFacts => ({
  name: 'csi-1',
  uid: 'va-uid',
  attached: true,
  created: NOW - 3_600_000,
  deletingSince: null,
  detachError: null,
  attachError: null,
  nudged: false,
  source: { source: 'volumeAttachment', driver: 'a-driver', value: 'm-1' },
  ...change,
});

export const volume = (change: Partial<VolumeFacts> = {}): VolumeFacts => ({
  driver: 'a-driver',
  handle: 'disk-1',
  key: 'a-driver^disk-1',
  persistentVolume: 'pv-1',
  pvc: 'default/data',
  attachmentName: 'csi-1',
  attachment: attachment(),
  node: 'node-a',
  nameTaken: false,
  reported: false,
  successor: null,
  ...change,
});

/** What a run remembers of a volume that it has found without a Node. */
export const volumeLeft = ({
  driver,
  handle,
  persistentVolume,
  attachmentName,
  node: on,
}: VolumeFacts): VolumeLeft => ({
  driver,
  handle,
  persistentVolume,
  attachmentName,
  node: on,
});

export const cluster = (change: Partial<ClusterFacts> = {}): ClusterFacts => ({
  node: node(),
  nodeName: 'node-a',
  nameTaken: false,
  pods: [pod()],
  volumes: [volume()],
  attachmentsOfOthers: [],
  lease: ago(20_000),
  surroundings: { paused: null },
  taintSupported: true,
  ...change,
});

/** No other Node is unreachable, and none names the machine. */
export const alone: SurveyOfClusters = {
  unreachable: ['node-a'],
  zone: ['node-a', 'node-b'],
  nodesNamingMachine: ['node-a'],
  elsewhere: [],
  unanswered: [],
};

/** The cap allows the fence. */
export const admitted: Admission = {
  admitted: true,
  begun: 0,
  unfinished: 0,
  limits: { begun: 4, unfinished: 2 },
  nodes: 10,
  opens: null,
};

export const view = (change: Partial<View> = {}): View => ({
  request: { machine: 'm-1', intent: 'fence', accepted: null, vouched: null },
  policy: defaultPolicy,
  identityRules: { name: 'a-cloud', machineOf, immutableIdsOf: incarnationsOf, unservedScope: () => null, diskOf },
  runId: 'run',
  machine: machine(),
  machineRequestedAt: 1_000,
  cluster: cluster(),
  remembered: null,
  ambiguity: null,
  memory: {
    ...emptyMemory,
    admission: admitted,
    firstOff: { wall: NOW - 100, mono: 900, generation: 'boot-1' },
    leaseSince: 900,
    firstLease: ago(20_000),
  },
  now: { wall: NOW, mono: 1_000 },
  ...change,
});

/** The machine has booted under a fence whose out-of-service taint was removed 10 minutes ago. */
export const back = (nodeChange: Partial<NodeFacts> = {}, change: Partial<FenceRecord> = {}): NodeFacts =>
  marked({ phase: 'fenced', released: ago(600_000), ...change }, { bootID: 'boot-b', taints: PARKED, ...nodeChange });

export const returned = (change: Partial<ClusterFacts> = {}, rest: Partial<View> = {}): View =>
  view({
    machine: machine({ power: 'running', generation: 'boot-2', disks: [] }),
    cluster: cluster({ node: back(), pods: [], volumes: [], lease: ago(3_000), ...change }),
    ...rest,
  });

/** The boot that was fenced before `back`. */
export const BEFORE = fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-1' });
