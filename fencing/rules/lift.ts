import type { NodeFacts } from '../cluster-facts.ts';
import type { Power } from '../machine.ts';
import { because } from '../reason.ts';
import type { FenceRecord } from '../record.ts';
import { take, type Rule, type View } from '../view.ts';
import { identityOf } from './identity.ts';
import { targetNode } from './mark.ts';
import { vouchedFor } from './proof.ts';

/** The cloud says that the machine is not off: its guest may write, now or within seconds. */
const notOff: ReadonlySet<Power> = new Set<Power>(['running', 'starting', 'stopping', 'suspended']);

/** An operation on a machine that is off by its power state is our own detach, or the driver's; a start shows itself within seconds. */
const mayWrite = ({ machine: { power, offUnderOperation } }: View): boolean => notOff.has(power) && offUnderOperation !== true;

/** Null where the record is lost, speaks of another machine or is not our label's: then nothing is written over it. */
const liftedRecord = ({ now, machine }: View, { record, label }: NodeFacts): FenceRecord | null =>
  record && label !== null && record.machine === machine.machine ? { ...record, phase: 'lifted', released: new Date(now.wall).toISOString() } : null;

/** By its record, and nothing that is surer contradicts: what a kubelet writes there does not keep our taint on its machine. */
const isAnothers = ({ machine, reading }: View, node: NodeFacts): boolean =>
  node.record !== null && node.record.machine !== machine.machine && identityOf(node, machine, reading) !== 'proven';

/** A person's word may stand for a suspended machine, never against a cloud that says that it is up. */
const isVouchedFor = (view: View): boolean => view.machine.power === 'suspended' && vouchedFor(view) !== null;

/**
 * A proof covers one call, but Kubernetes goes on acting on our out-of-service taint: it would delete the pods of a machine
 * that has come back and detach its mounted disks as soon as its kubelet is cut off. So the taint goes before any other
 * question is asked, even under a pause. The quarantine stays until the return is proven.
 * https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
 */
export const liftMark: Rule = (view) => {
  const { node } = view.cluster;
  const { machine, power } = view.machine;
  if (!node?.taints.ours || !mayWrite(view) || isVouchedFor(view)) return null;
  if (isAnothers(view, node)) return null;
  return take(
    { do: 'readmit-volumes', node: targetNode(node), record: liftedRecord(view, node) },
    because('no-longer-off', `the cloud says that ${machine} is ${power}: our out-of-service taint must not stand on Node ${node.name}`),
  );
};
