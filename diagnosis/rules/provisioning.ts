import type { Cause, CauseKind, WaitEnd } from '../model/cause.ts';
import type { ObjectName, PvcView, Situation } from '../model/facts.ts';
import { cause, firstLine, formatDuration, formatTime } from './rule.ts';

/** Why no volume is made for a claim: the words of its provisioner, and of the scheduler. */

interface Remedy {
  readonly ending: WaitEnd;
  readonly next: readonly string[];
}

interface RefusalText {
  readonly sign: RegExp;
  /** Gets the claim, and what the sign captured. */
  readonly remedy: (claim: ObjectName, captured: string) => Remedy;
}

const byPerson = (...next: readonly string[]): Remedy => ({ ending: 'by-person', next });

/**
 * The words of external-provisioner (pkg/controller/controller.go), of the API server, and of the clouds
 * (`ZONE_RESOURCE_POOL_EXHAUSTED`: gcp-compute-persistent-disk-csi-driver#1837). The first sign counts.
 */
const texts: readonly RefusalText[] = [
  {
    sign: /snapshot \S+ is not ready/i,
    remedy: ({ namespace }) => ({
      ending: 'by-itself',
      next: [
        `kubectl -n ${namespace} get volumesnapshot      # the volume follows once the snapshot is ready to use`,
        'if it never becomes ready: the status of its VolumeSnapshotContent has the error',
      ],
    }),
  },
  {
    sign: /storageclass\.storage\.k8s\.io "([^"]+)" not found/,
    remedy: (_, name) =>
      byPerson(
        `kubectl get storageclass      # create the class ${name}`,
        'or make the claim again with a class that exists: the class of a claim cannot change',
      ),
  },
  {
    sign: /CSINode for selected node "([^"]+)".*not found/,
    remedy: ({ namespace, name }, node) =>
      byPerson(
        `kubectl -n ${namespace} annotate pvc ${name} volume.kubernetes.io/selected-node-      # ${node} is ` +
          'gone: the scheduler then chooses another Node',
      ),
  },
  {
    sign: /no topology key found on CSINode (\S+)/,
    remedy: (_, node) =>
      byPerson(
        `kubectl get csinode ${node} -o yaml      # the driver is not registered there: look at its node ` +
          `plugin on ${node}`,
      ),
  },
  {
    sign: /persistentvolumeclaims "([^"]+)" not found/,
    remedy: ({ namespace }, name) =>
      byPerson(
        `the claim is a clone, and needs its source in the same namespace: there is no claim ${name} in ${namespace}`,
        'make the claim again with another dataSource: the one of a claim cannot change',
      ),
  },
  {
    sign: /volumesnapshots\.snapshot\.storage\.k8s\.io "([^"]+)" not found/,
    remedy: ({ namespace }, name) =>
      byPerson(
        `kubectl -n ${namespace} get volumesnapshot      # there is no VolumeSnapshot ${name} in this namespace`,
        'make the claim again with a snapshot that exists: the dataSource of a claim cannot change',
      ),
  },
  {
    sign: /secrets? "([^"]+)" not found/,
    remedy: (_, name) =>
      byPerson(
        `create the Secret ${name} in the namespace that the error names: the parameters of the StorageClass name it`,
      ),
  },
  {
    sign: /is less than the size \d+ for the source|must be greater than or equal in size to the specified/,
    remedy: () => byPerson('make the claim again with a larger size: at least the size of its source'),
  },
  {
    sign: /MULTI_NODE|[Oo]nly AccessModes/,
    remedy: () =>
      byPerson(
        'make the claim again with ReadWriteOnce: a disk serves one Node at a time',
        'or with the class of a file share, which several Nodes can mount',
      ),
  },
  {
    sign: /kmsPermissionDenied|Cloud KMS error|KeyVaultAccessForbidden|DiskEncryptionSet/,
    remedy: () =>
      byPerson(
        "let the cloud's own disk service use the key that the error names (Google Cloud: the Compute Engine service " +
          'agent; Azure: the identity of the disk encryption set), and see whether the key is enabled',
      ),
  },
  {
    sign: /InvalidVolume\.NotFound/,
    remedy: () =>
      byPerson(
        "let the role of the driver's controller use the KMS key (kms:CreateGrant, kms:Decrypt, " +
          'kms:GenerateDataKeyWithoutPlaintext): EC2 deletes a volume whose key it may not use',
      ),
  },
  {
    sign: /DeadlineExceeded|context deadline exceeded/,
    remedy: () => ({
      ending: 'by-itself',
      next: [
        'wait some minutes: the call took longer than its limit, and the provisioner tries again. File shares ' +
          '(Filestore, Azure NetApp Files, FSx) take minutes',
        "if it lasts: read the log of the driver's controller",
      ],
    }),
  },
  {
    sign: /ZONE_RESOURCE_POOL_EXHAUSTED|InsufficientVolumeCapacity|ZonalAllocationFailed|SkuNotAvailable/,
    remedy: () => byPerson('the zone has no capacity for this type of disk now: wait, or use another type or zone'),
  },
  {
    sign: /VolumeLimitExceeded|MaxIOPSLimitExceeded|QUOTA_EXCEEDED|[Qq]uotaExceeded/,
    remedy: () => byPerson('ask the cloud for a higher quota: the account may have no further disk of this type'),
  },
  {
    sign: /UnauthorizedOperation|AccessDenied|AuthorizationFailed|PERMISSION_DENIED|Required '[\w.]+' permission/,
    remedy: () =>
      byPerson(
        "grant the permission that the error names to the role or identity of the driver's controller. " +
          "Cloudfence's own permissions do not matter here",
      ),
  },
];

/** Returns what to do, and how the wait ends. */
export const remedyOfRefusal = (says: string, claim: ObjectName): Remedy => {
  const known = texts.find(({ sign }) => sign.test(says));
  return known
    ? known.remedy(claim, known.sign.exec(says)?.[1] ?? '')
    : byPerson('fix what the error names: a permission, a quota, a key, or the zone');
};

const SHORTLY_MS = 60_000;
const LONG_MS = 900_000;

/** The provisioner says that it works on the volume. */
const inWork = (provisioner: string, since: number, waits: string): Cause =>
  cause('moving-now', 'likely', 'by-itself', {
    says: `The provisioner ${provisioner} makes the volume. A disk takes seconds, and a file share takes minutes.`,
    proof: [`it was asked at ${formatTime(since)}`],
    waits: `${waits} ← provisioner ${provisioner}.`,
    next: [
      `look again after ${formatTime(since + SHORTLY_MS)}`,
      "if it lasts: read the log of the driver's controller",
    ],
  });

const silent = (provisioner: string, proof: readonly string[], waits: string): Cause =>
  cause('no-provisioner', 'likely', 'by-person', {
    says: `The provisioner ${provisioner} should create a volume, but does not answer.`,
    proof,
    waits: `${waits} ← provisioner ${provisioner}.`,
    next: [`see whether it runs: kubectl get csidriver ${provisioner}; kubectl get pods -A | grep -i csi`],
  });

/** How long the claim has waited, and on what behalf. */
export interface ClaimWait {
  readonly waits: string;
  /** When the claim, or the pod that needs it, was created (epoch ms). */
  readonly since: number;
  readonly now: number;
}

/** A provisioner that has not answered yet is at work for the first minute, and silent after that. */
const workingOrSilent = (provisioner: string, proof: readonly string[], { waits, since, now }: ClaimWait): Cause =>
  now - since < SHORTLY_MS ? inWork(provisioner, since, waits) : silent(provisioner, proof, waits);

/** The event of volume-data-source-validator: no provisioner fills the volume. */
const withoutPopulator = ({ events, namespace, name }: PvcView, { waits }: ClaimWait): Cause | null => {
  const event = events.find(({ reason }) => reason === 'UnrecognizedDataSourceKind');
  if (!event) return null;
  return cause('no-provisioner', 'proved', 'by-person', {
    says:
      'The claim names a data source of a kind that no populator in this cluster serves, so nothing fills the ' +
      'volume.',
    proof: [firstLine(event.says)],
    waits: `${waits} ← a VolumePopulator.`,
    next: [
      `kubectl -n ${namespace} get pvc ${name} -o jsonpath='{.spec.dataSourceRef}'      # what it asks for`,
      'kubectl get volumepopulators      # install the one of that kind, or make the claim again without it',
    ],
  });
};

/** Returns the cause if Kubernetes has asked the provisioner for the volume. */
export const stateOfProvisioner = (claim: PvcView, wait: ClaimWait): Cause | null => {
  const unknownSource = withoutPopulator(claim, wait);
  if (unknownSource) return unknownSource;
  const provisioner = claim.provisioner ?? '';
  const working = claim.events.find(({ reason }) => reason === 'Provisioning');
  if (working && wait.now - working.at < LONG_MS) return inWork(provisioner, working.at, wait.waits);
  const asked = claim.events.find(({ reason }) => reason === 'ExternalProvisioning');
  const last = working ?? asked;
  return last ? workingOrSilent(provisioner, [firstLine(last.says)], wait) : null;
};

interface SchedulerText {
  readonly sign: RegExp;
  readonly kind: CauseKind;
  readonly says: string;
  readonly next: readonly string[];
}

/** The words of the scheduler about volumes that do not exist yet (pkg/scheduler/framework/plugins/volumebinding). */
const schedulerTexts: readonly SchedulerText[] = [
  {
    sign: /exceed max volume count/,
    kind: 'node-full',
    says: 'The Nodes where the pod may run cannot attach more volumes.',
    next: ['add a Node', 'look for VolumeAttachments that no pod needs: kubectl get volumeattachments'],
  },
  {
    sign: /did not have enough free storage/,
    kind: 'no-volume',
    says: 'No Node where the pod may run has enough free storage for the new volume.',
    next: [
      'kubectl get csistoragecapacities -A      # what the driver reports for each Node or zone',
      'add storage there, or ask for a smaller volume',
    ],
  },
  {
    sign: /didn't find available persistent volumes to bind/,
    kind: 'no-volume',
    says: 'No PersistentVolume fits the claim on a Node where the pod may run, and its StorageClass makes none there.',
    next: [
      'create a PersistentVolume of its class, size, and mode on such a Node (local disks: see the static provisioner)',
      'or compare the allowedTopologies of the StorageClass with the labels of the Nodes',
    ],
  },
];

const UNBOUND = /unbound immediate PersistentVolumeClaims|binding volumes: /;

/** What the scheduler says if a volume that does not exist yet is the reason, of this claim or of another one. */
export const isAboutBinding = (says: string): boolean =>
  UNBOUND.test(says) || schedulerTexts.some(({ sign, kind }) => kind === 'no-volume' && sign.test(says));

/** Returns the cause if the scheduler waits for the volume itself, and not for a Node. */
export const causeBeforeBinding = ({ pod }: Situation, claim: PvcView, wait: ClaimWait): Cause | null => {
  const says = pod.unscheduled ?? '';
  const { provisioner } = claim;
  if (provisioner !== null && UNBOUND.test(says)) {
    const pendingFor = formatDuration(wait.now - wait.since);
    const proof = [firstLine(says), `it has been Pending for ${pendingFor}, and no event says why`];
    return workingOrSilent(provisioner, proof, wait);
  }
  const found = schedulerTexts.find(({ sign }) => sign.test(says));
  if (!found) return null;
  return cause(found.kind, 'proved', 'by-person', {
    says: found.says,
    proof: [firstLine(says)],
    waits:
      `${wait.waits} ← scheduler ← ` +
      `${found.kind === 'node-full' ? 'a Node with a free slot' : 'a volume that fits'}.`,
    next: found.next,
  });
};
