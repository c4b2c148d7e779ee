import type { NodeFacts } from '../model/cluster-facts.ts';
import type { IdentitySource } from '../model/machine.ts';
import { patience } from '../model/policy.ts';
import { because, counted } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { acceptCommand, isVolumeGone, wayOut, witnessDisks } from './identity.ts';
import { currentRecord, targetNode } from './mark.ts';
import { type Decision, refuse, type Rule, takeStep, type View, wait } from './view.ts';

/**
 * Returns a person's statement that the machine is off, or null. It is given to this run, or written in the record of
 * the fence that the run continues.
 */
export const vouchReason = (view: View): string | null => view.request.vouched ?? currentRecord(view)?.vouched ?? null;

/** Returns every identity source that may say where the machine is and that names exactly this machine. */
const ownIdentitySources = ({ cluster: { node, volumes }, machine, identityRules }: View): readonly IdentitySource[] =>
  [...(node?.identitySources ?? []), ...volumes.flatMap(({ attachment }) => attachment?.source ?? [])].filter(
    (source) => identityRules.machineOf(source) === machine.machine,
  );

/**
 * Refuses a machine in a place that Cloudfence does not serve. "Not found" in one place says nothing about a machine in
 * another place.
 */
export const placeNotServed: Rule = (view) => {
  const { machine, power } = view.machine;
  if ((power !== 'missing' && power !== 'unknown') || vouchReason(view) !== null) return null;
  const unserved = ownIdentitySources(view)
    .map(view.identityRules.unservedScope)
    .find((place) => place !== null);
  return unserved
    ? refuse(
        because(
          'place-not-served',
          `${machine} is in ${unserved.scope}, which this install does not serve: ${unserved.remedy}`,
        ),
      )
    : null;
};

/**
 * Requires a witness for a machine that its cloud does not know. "Not found" alone is no proof, because a wrong account
 * or region looks the same. The disks that were attached to the machine are the witnesses. They show that it is really
 * gone if all of them are found where it was, and none names it any more.
 */
export const missingNeedsWitness: Rule = (view) => {
  if (view.machine.power !== 'missing' || vouchReason(view) !== null || witnessesAreGone(view)) return null;
  const { machine } = view.machine;
  switch (view.memory.witness) {
    case 'released':
      return null;
    case 'held':
      return stillHeld(view);
    case 'none':
      return refuse(
        because(
          'missing-without-witness',
          `the cloud does not know ${machine}, and it does not find every disk that was attached to it, which would confirm that: ${witnessDisks(view).join(', ')}${wayOut(view.cluster.node)}`,
        ),
      );
    case null:
      return askWitness(view);
  }
};

/**
 * Returns whether the disks that testified when the fence began were deleted with their volumes. Then there is no disk
 * left to ask, and nothing left to free.
 */
const witnessesAreGone = (view: View): boolean =>
  (currentRecord(view)?.volumes.some(({ attached }) => attached) ?? false) && view.cluster.volumes.every(isVolumeGone);

/** Waits, or refuses, while a disk still names the machine. Each look asks the disks again. */
const stillHeld = ({ machine: { machine }, memory: { firstOff }, now }: View): Decision => {
  const held = because(
    'missing-but-disk-held',
    `the cloud does not know ${machine}, but a disk is still attached to it`,
  );
  const mayLetGo = firstOff !== null && now.mono - firstOff.mono < patience.disksLetGo;
  return mayLetGo ? wait(patience.pollLongest, held) : refuse(held);
};

const askWitness = (view: View): Decision => {
  const disks = witnessDisks(view);
  const { machine } = view.machine;
  // The status of a drained Node no longer lists its attachments.
  if (disks.length === 0 && view.cluster.node && !view.memory.searched)
    return {
      do: 'search',
      because: because(
        'missing-without-witness',
        `the cloud does not know ${machine}, so Cloudfence looks for a disk that was attached to it`,
      ),
    };
  if (disks.length > 0)
    return {
      do: 'witness',
      disks,
      because: because(
        'missing-without-witness',
        `Cloudfence checks whether ${counted(disks.length, 'disk is', 'disks are')} still attached to ${machine}`,
      ),
    };
  return refuse(
    because(
      'missing-without-witness',
      `the cloud does not know ${machine}, and Cloudfence knows no disk of it that could confirm that the machine is gone${wayOut(view.cluster.node)}`,
    ),
  );
};

/**
 * Requests a search of the list of all attachments, once, if no volume of the Node explains a disk of the machine. An
 * attachment that the Node's status forgot may hold the disk, such as on a drained Node.
 */
export const unexplainedDisk: Rule = ({ machine, cluster, memory, identityRules }) => {
  if (memory.searched || !cluster.node) return null;
  const explained = new Set(cluster.volumes.map((volume) => identityRules.diskOf(volume)));
  const disk = machine.disks.find(({ disk: id, keep }) => keep === null && !explained.has(id));
  return disk
    ? {
        do: 'search',
        because: because(
          'disks-going',
          `no known volume of Node ${cluster.node.name} uses ${disk.disk}, so Cloudfence searches all VolumeAttachments`,
        ),
      }
    : null;
};

/**
 * Waits for a second read where one is not enough. Some clouds show "stopped" for a moment while a machine starts, so
 * two reads have to agree.
 */
export const secondReadPending: Rule = ({ machine, memory, now }) => {
  if (machine.power !== 'off-if-repeated' || !memory.firstOff) return null;
  const left = patience.secondRead - (now.mono - memory.firstOff.mono);
  return left > 0
    ? wait(left, because('second-read', 'this state is a proof only if a second read confirms it'))
    : null;
};

/** Refuses a proof without a boot generation, because it could not be told from the next boot's. */
export const generationUnknown: Rule = (view) =>
  view.machine.generation === null && view.machine.power !== 'missing' && vouchReason(view) === null
    ? refuse(because('generation-unknown', `the cloud does not say which boot of ${view.machine.machine} has ended`))
    : null;

/**
 * Refuses a person's statement unless the configuration allows it. The statement never counts against a cloud that says
 * that the machine is up.
 */
export const vouchingRefused: Rule = (view) =>
  vouchReason(view) !== null && view.policy.vouching === 'refused'
    ? refuse(because('vouching-refused', 'the configuration does not allow vouching for a machine (policy.vouching)'))
    : null;

/**
 * Refuses power states that prove nothing. Suspended memory resumes and writes within seconds. An unknown power state
 * says nothing.
 */
export const doubtfulPower: Rule = (view) => {
  const { machine, power, evidence } = view.machine;
  if (vouchReason(view) !== null) return null;
  const evidenceText = Object.entries(evidence)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');
  if (power === 'suspended')
    return refuse(
      because('suspended', `${machine} is suspended, or may be. When it resumes, it writes again (${evidenceText})`),
    );
  if (power === 'unknown')
    return refuse(because('power-unknown', `the cloud does not report a power state for ${machine} (${evidenceText})`));
  return null;
};

/**
 * Stops, and informs people, if the kubelet renews its Lease after the cloud said off: the kubelet contradicts the
 * cloud. Kubelets renew every 10 s, and also while the machine is `stopping`, so only a *change* counts. It counts
 * against the Lease that the record holds for this very boot, or else against the Lease that this run read first.
 */
export const leaseContradicts: Rule = (view) => {
  const record = currentRecord(view);
  const baseline = record ? record.lease : view.memory.lease;
  const { node, lease } = view.cluster;
  if (baseline === undefined || lease === null || lease === baseline) return null;
  return node && record
    ? untilSilent(view, node, record, lease)
    : refuse(because('lease-renewed-after-off', renewedAt(lease)));
};

const renewedAt = (lease: string): string =>
  `the kubelet renewed its Lease at ${lease} although the cloud says that the machine is off`;

/**
 * Notes the renewal, and refuses until the kubelet has been silent for long enough. A renewal that stays the only one
 * for long was in progress when the machine went off. A kubelet wrote its date, so Cloudfence measures the time itself.
 */
const untilSilent = ({ now }: View, node: NodeFacts, record: FenceRecord, lease: string): Decision => {
  const says = renewedAt(lease);
  // A kubelet may write the record, so a date that lies ahead starts the measurement again.
  if (record.renewed?.lease !== lease || Date.parse(record.renewed.seen) > now.wall) {
    const seen = new Date(now.wall).toISOString();
    return takeStep(
      { do: 'note', node: targetNode(node), record: { ...record, renewed: { lease, seen } } },
      because('lease-renewed-after-off', says),
    );
  }
  const silentFor = now.wall - Date.parse(record.renewed.seen);
  if (silentFor < patience.silence)
    return refuse(
      because(
        'lease-renewed-after-off',
        `${says}. The fence continues after the kubelet has been silent for ${counted(patience.silence / 60_000, 'minute')}`,
      ),
    );
  return takeStep(
    { do: 'note', node: targetNode(node), record: { ...record, lease, renewed: null } },
    because('silent-again', `the kubelet has not renewed its Lease since ${record.renewed.seen}`),
  );
};

/**
 * Returns how long (ms) this run has known the Lease that it first read after it saw the machine off. A renewal in that
 * time contradicts the cloud. A time that began before that read would tell nothing: the kubelet may have renewed its
 * Lease in between.
 */
const sameLeaseFor = ({ memory: { leaseSince }, now }: View): number =>
  leaseSince === null ? 0 : now.mono - leaseSince;

/** Returns how long (ms) to wait. The next look comes soon if it is the one that begins to count the silence. */
const untilLook = (left: number, { memory: { leaseSince } }: View): number =>
  leaseSince === null ? Math.min(left, patience.pollShortest) : left;

/**
 * Returns how long (ms) the kubelet has been silent: by the Lease's own date or, if its clock is wrong, since this run
 * knows the Lease. The date of a Lease that cannot be read (NaN) counts as no silence.
 */
const silentFor = (lease: string, view: View): number =>
  Math.max(view.now.wall - (Date.parse(lease) || view.now.wall), sameLeaseFor(view));

/**
 * Returns for how long (ms) the kubelet has to be silent before a fence, and why, or null. A machine that its cloud does
 * not know may run in a place that was not asked. If the cloud does not say when a machine went off, the date of the Lease tells
 * nothing: another machine's kubelet may live under this Node's name. The control plane has not seen the kubelet of an
 * unreachable Node for longer than this.
 */
const silenceNeeded = (view: View): { readonly ms: number; readonly why: string } | null => {
  const { machine, power, since } = view.machine;
  const { node } = view.cluster;
  if (power === 'missing') return { ms: patience.silent, why: `the cloud does not know ${machine}` };
  return since === null && node && node.ready !== 'Unknown' && !currentRecord(view)
    ? { ms: patience.lateLease, why: `the cloud does not say when ${machine} went off` }
    : null;
};

/**
 * Waits until the kubelet is silent if nothing else tells that the Lease is from before the power-off. A kubelet that
 * renewed its Lease just now may live.
 */
export const kubeletNotSilent: Rule = (view) => {
  const { lease } = view.cluster;
  const needed = silenceNeeded(view);
  if (!needed || lease === null) return null;
  const left = needed.ms - silentFor(lease, view);
  return left > 0
    ? wait(
        untilLook(left, view),
        because(
          'kubelet-not-silent',
          `${needed.why}, and its kubelet renewed its Lease at ${lease}: Cloudfence waits until the kubelet has been silent for ${needed.ms / 1_000} s`,
        ),
      )
    : null;
};

/**
 * Returns the latest time (epoch ms) with which a Lease of the dead machine's own kubelet may be dated: the first time
 * that this run saw the machine off, or, if the cloud gives the time of the power-off, a while after that. Kubelets
 * also renew their Leases while their machine is stopping.
 */
const lastOwnRenewal = (firstOff: number, { since }: View['machine']): number =>
  Math.min(firstOff, since === null ? Infinity : since + patience.clocksDiffer);

/**
 * Waits for a second look if the Lease is dated after the power-off. The cause may be a fast clock. But the kubelet of
 * another machine may also live under this Node's name, and it renews the Lease before the second look.
 */
export const leaseLooksLate: Rule = (view) => {
  const { cluster } = view;
  const { firstOff } = view.memory;
  if (!firstOff || cluster.lease === null || currentRecord(view)) return null;
  if (Date.parse(cluster.lease) <= lastOwnRenewal(firstOff.wall, view.machine)) return null;
  const left = patience.lateLease - sameLeaseFor(view);
  return left > 0
    ? wait(
        untilLook(left, view),
        because(
          'lease-looks-late',
          `the Lease has the time ${cluster.lease}, which is after the machine went off, so Cloudfence looks again`,
        ),
      )
    : null;
};

/**
 * Returns whether the machine has been off since the fence began. A machine that the cloud has forgotten has no
 * generation any more. It was off all the time unless the record says that Cloudfence has seen it run since.
 */
const isOffSince = ({ generation, phase }: FenceRecord, now: View['machine']): boolean =>
  now.generation === null
    ? now.power === 'missing' && (phase === 'fencing' || phase === 'fenced')
    : now.generation === generation;

/**
 * Refuses if the Node shows another boot than the record although the machine has been off all the time. Then another
 * machine's kubelet lives under this Node's name, and a new fence would delete that machine's pods.
 */
export const bootContradicts: Rule = (view) => {
  const { node } = view.cluster;
  const { machine } = view.machine;
  const record = node?.record;
  if (!node || !record || record.bootID === node.bootID || !isOffSince(record, view.machine)) return null;
  return refuse(
    because(
      'identity-contradicted',
      `Node ${node.name} shows a different boot than when fence ${record.fence} began, although ${machine} has been off since then. Another machine may have this name: check both machines, then end the fence with ${acceptCommand(node)}`,
    ),
  );
};

/**
 * Refuses to begin a fence of a terminated machine whose Node was in use long after the termination. The Lease has its
 * date from a kubelet, whose clock may be wrong, so the control plane has to say the same: the Node is Ready, or became
 * NotReady long after the termination. Then another machine's kubelet lives under this Node's name.
 */
export const usedLongAfter: Rule = (view) => {
  const { node, lease } = view.cluster;
  const { machine, forGood, since } = view.machine;
  if (!node || lease === null || !forGood || since === null || currentRecord(view)) return null;
  const longAfter = since + patience.stopping;
  const inUse = node.ready === 'True' || node.readySince > longAfter;
  if (Date.parse(lease) <= longAfter || !inUse) return null;
  return refuse(
    because(
      'identity-contradicted',
      `the kubelet of Node ${node.name} renewed its Lease at ${lease}, long after ${machine} was terminated. Another machine may use this name: check it, and delete the Node so that its machine registers again`,
    ),
  );
};
