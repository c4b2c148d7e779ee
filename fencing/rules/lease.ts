import { patience } from '../policy.ts';
import { because } from '../reason.ts';
import type { FenceRecord } from '../record.ts';
import { refuse, take, wait, type Decision, type Rule, type View } from '../view.ts';
import { currentRecord, targetNode } from './mark.ts';

/**
 * A kubelet that renews its Lease after the cloud said off contradicts the cloud: stop, and tell people.
 * Kubelets renew every 10 s and while the machine is `stopping`, so only a *change* counts, against what the record holds
 * for this very boot, else against what this run read first.
 */
export const leaseContradicts: Rule = (view) => {
  const record = currentRecord(view);
  const known = record ? record.lease : view.memory.lease;
  const { lease } = view.cluster;
  if (known === undefined || lease === null || lease === known) return null;
  const says = `the kubelet renewed its Lease at ${lease} although the cloud says that the machine is off`;
  return record ? untilSilent(view, record, lease, says) : refuse(because('lease-renewed-after-off', says));
};

/** A renewal that stays the only one for long was under way when the machine went off. Its date is the kubelet's word, so we time it ourselves. */
const untilSilent = (view: View, record: FenceRecord, lease: string, says: string): Decision => {
  const { node } = view.cluster;
  const { now } = view;
  if (!node) return refuse(because('lease-renewed-after-off', says));
  // A kubelet may write the record: what is dated ahead is timed anew.
  if (record.renewed?.lease !== lease || Date.parse(record.renewed.seen) > now.wall) {
    const seen = new Date(now.wall).toISOString();
    return take({ do: 'note', node: targetNode(node), record: { ...record, renewed: { lease, seen } } }, because('lease-renewed-after-off', says));
  }
  const silentFor = now.wall - Date.parse(record.renewed.seen);
  if (silentFor < patience.silence) return refuse(because('lease-renewed-after-off', `${says}; the fence goes on once it has been silent for ${patience.silence / 60_000} minutes`));
  return take({ do: 'note', node: targetNode(node), record: { ...record, lease, renewed: null } }, because('silent-again', `the kubelet has not renewed its Lease since ${record.renewed.seen}`));
};

/** By its own date or, where its clock is off, since this run saw the machine missing; NaN of a Lease that cannot be read is no silence. */
const silentFor = (lease: string, { memory: { firstOff }, now }: View): number =>
  Math.max(now.wall - (Date.parse(lease) || now.wall), firstOff ? now.mono - firstOff.mono : 0);

/** A machine that its cloud does not know may run where nobody asked: a kubelet that renewed its Lease just now says that it does. */
export const kubeletNotSilent: Rule = (view) => {
  const { machine: { machine, power }, cluster: { lease } } = view;
  if (power !== 'missing' || lease === null) return null;
  const left = patience.silent - silentFor(lease, view);
  return left > 0 ? wait(left, because('kubelet-not-silent', `the cloud does not know ${machine}, yet its kubelet renewed its Lease at ${lease}: it has to be silent for ${patience.silent / 1_000} s`)) : null;
};

/** A renewal dated after the power-off may be a fast clock. It gets a second look; a living kubelet renews until then. */
export const leaseLooksLate: Rule = (view) => {
  const { cluster, now } = view;
  const { firstOff } = view.memory;
  if (!firstOff || cluster.lease === null || currentRecord(view)) return null;
  if (Date.parse(cluster.lease) <= firstOff.wall) return null;
  const left = patience.lateLease - (now.mono - firstOff.mono);
  return left > 0 ? wait(left, because('lease-looks-late', `the Lease is dated ${cluster.lease}, after the machine was seen off; looking again`)) : null;
};
