import { patience } from '../policy.ts';
import { because } from '../reason.ts';
import { refuse, wait, type Rule, type View } from '../view.ts';
import { currentRecord } from './mark.ts';

/** The Lease against which a renewal shows: what the record holds for this very boot, else what this run read first. */
const baseline = (view: View): string | null | undefined => {
  const record = currentRecord(view);
  return record ? record.lease : view.memory.lease;
};

/**
 * A kubelet that renews its Lease after the cloud said off contradicts the cloud: stop, and tell people.
 * Kubelets renew every 10 s and while the machine is `stopping`, so only a *change* counts.
 */
export const leaseContradicts: Rule = (view) => {
  const known = baseline(view);
  const { lease } = view.cluster;
  if (known === undefined || lease === null || lease === known) return null;
  return refuse(because('lease-renewed-after-off', `the kubelet renewed its Lease at ${lease} although the cloud says that the machine is off`));
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
