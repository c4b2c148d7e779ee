import type { NodeFacts } from '../model/cluster-facts.ts';
import { timing } from '../model/policy.ts';
import { because, pluralize } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { currentRecord, targetNode } from './mark.ts';
import { type Decision, refuse, type Rule, takeStep, type View, wait } from './view.ts';

/** Whether the kubelet's Lease contradicts the proof. */

/**
 * Stops and alerts people if the kubelet renews its Lease after the cloud said off, because the kubelet then
 * contradicts the cloud. Kubelets renew every 10 s, also while the machine is `stopping`, so only a *change* counts.
 * The Lease is compared with the one in the record for this boot, or else with the Lease that this run read first.
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
 * Notes the renewal, and refuses until the kubelet has been silent for long enough. If the renewal remains the only one
 * for a long time, it was in progress when the machine went off. Cloudfence measures that time itself, because the
 * kubelet wrote the date of the Lease.
 */
const untilSilent = ({ now }: View, node: NodeFacts, record: FenceRecord, lease: string): Decision => {
  const says = renewedAt(lease);
  // A kubelet may write the record, so a date in the future restarts the measurement.
  if (record.renewed?.lease !== lease || Date.parse(record.renewed.seen) > now.wall) {
    const seen = new Date(now.wall).toISOString();
    return takeStep(
      { do: 'note', node: targetNode(node), record: { ...record, renewed: { lease, seen } } },
      because('lease-renewed-after-off', says),
    );
  }
  const silentFor = now.wall - Date.parse(record.renewed.seen);
  if (silentFor < timing.silence)
    return refuse(
      because(
        'lease-renewed-after-off',
        `${says}. The fence continues after the kubelet has been silent for ` +
          pluralize(timing.silence / 60_000, 'minute'),
      ),
    );
  return takeStep(
    { do: 'note', node: targetNode(node), record: { ...record, lease, renewed: null } },
    because('silent-again', `the kubelet has not renewed its Lease since ${record.renewed.seen}`),
  );
};

/**
 * Returns how long (ms) the Lease has not changed since this run first saw the machine off. A renewal in that time
 * contradicts the cloud. The time must not begin before that read, because the kubelet may have renewed its Lease in
 * between.
 */
const sameLeaseFor = ({ memory: { leaseSince }, now }: View): number =>
  leaseSince === null ? 0 : now.mono - leaseSince;

/** Returns how long (ms) to wait. The wait is short if the next look begins to measure the silence. */
const untilLook = (left: number, { memory: { leaseSince } }: View): number =>
  leaseSince === null ? Math.min(left, timing.pollShortest) : left;

/**
 * Returns how long (ms) the kubelet has been silent: according to the date of the Lease or, if its clock is wrong,
 * since this run knows the Lease. If the date of a Lease cannot be read (NaN), the silence is zero.
 */
const silentFor = (lease: string, view: View): number =>
  Math.max(view.now.wall - (Date.parse(lease) || view.now.wall), sameLeaseFor(view));

/**
 * Returns how long (ms) the kubelet must be silent before a fence, and why, or null. A machine that the cloud does not
 * know may run in another account, region, or project. If the cloud does not say when a machine went off, the date of
 * the Lease proves nothing, because another machine's kubelet may use this Node's name. The control plane has not heard
 * from the kubelet of an unreachable Node for longer than this.
 */
const silenceNeeded = (view: View): { readonly ms: number; readonly why: string } | null => {
  const { machine, power, since } = view.machine;
  const { node } = view.cluster;
  if (power === 'missing') return { ms: timing.silent, why: `the cloud does not know ${machine}` };
  return since === null && node && node.ready !== 'Unknown' && !currentRecord(view)
    ? { ms: timing.lateLease, why: `the cloud does not say when ${machine} went off` }
    : null;
};

/**
 * Returns how long (ms) this run itself still has to see the same Lease of a machine that the cloud does not know. The
 * clock of the kubelet may be slow, or ours fast, so that the Lease of a living kubelet looks old. A living kubelet
 * renews it in this time. The control plane does not use these clocks when it loses a kubelet.
 */
const unseenFor = (view: View): number =>
  view.machine.power === 'missing' && view.cluster.node?.ready !== 'Unknown'
    ? timing.lateLease - sameLeaseFor(view)
    : 0;

/**
 * Waits until the kubelet is silent if nothing else shows that the Lease is older than the power-off. A kubelet that
 * renewed its Lease recently may be alive.
 */
export const kubeletNotSilent: Rule = (view) => {
  const { lease } = view.cluster;
  const needed = silenceNeeded(view);
  if (!needed || lease === null) return null;
  const left = Math.max(needed.ms - silentFor(lease, view), unseenFor(view));
  return left > 0
    ? wait(
        untilLook(left, view),
        because(
          'kubelet-not-silent',
          `${needed.why}, and its kubelet renewed its Lease at ${lease}: Cloudfence waits until the kubelet ` +
            `has been silent for ${needed.ms / 1_000} s`,
        ),
      )
    : null;
};

/**
 * Returns the latest time (epoch ms) that a Lease of the dead machine's own kubelet may have. That is the time at which
 * this run first saw the machine off. If the cloud reports the time of the power-off, it is a while after that time.
 * Kubelets also renew their Leases while their machine is stopping.
 */
const lastOwnRenewal = (firstOff: number, { since }: View['machine']): number =>
  Math.min(firstOff, since === null ? Infinity : since + timing.clocksDiffer);

/**
 * Waits for a second look if the date of the Lease is later than the power-off. The reason may be a clock that is fast.
 * But another machine's kubelet may also use this Node's name. It renews the Lease before the second look.
 */
export const leaseLooksLate: Rule = (view) => {
  const { cluster } = view;
  const { firstOff } = view.memory;
  if (!firstOff || cluster.lease === null || currentRecord(view)) return null;
  if (Date.parse(cluster.lease) <= lastOwnRenewal(firstOff.wall, view.machine)) return null;
  const left = timing.lateLease - sameLeaseFor(view);
  return left > 0
    ? wait(
        untilLook(left, view),
        because(
          'lease-looks-late',
          `the Lease has the time ${cluster.lease}, which is after the machine went off: Cloudfence looks again`,
        ),
      )
    : null;
};
