import type { IdentityCarrier, MachineId } from '../machine.ts';
import { because } from '../reason.ts';
import { refuse, type Rule, type View } from '../view.ts';

export type Identity = 'proven' | 'contradicted' | 'silent';

/**
 * Node names are reused, so a Node is a machine's only if a carrier of the immutable id names it and none names another.
 * Carriers that speak of no machine of this cloud say nothing either way.
 */
export const identityOf = (
  carriers: readonly IdentityCarrier[],
  machine: MachineId,
  machineOf: (carrier: IdentityCarrier) => MachineId | null,
): Identity => {
  const named = carriers.map(machineOf).filter((id) => id !== null);
  if (named.some((id) => id !== machine)) return 'contradicted';
  return named.length > 0 ? 'proven' : 'silent';
};

const spelledOut = ({ cluster, reading }: View): string =>
  (cluster.node?.carriers ?? [])
    .map((carrier) => `${carrier.carrier}${carrier.driver ? ` (${carrier.driver})` : ''}: ${reading.machineOf(carrier) ?? carrier.value}`)
    .join(', ');

export const doubtfulIdentity: Rule = (view) => {
  const { node } = view.cluster;
  if (!node) return null;
  switch (identityOf(node.carriers, view.machine.machine, view.reading.machineOf)) {
    case 'proven':
      return null;
    case 'contradicted':
      return refuse(because('identity-contradicted', `Node ${node.name} does not only name ${view.machine.machine}: ${spelledOut(view)}`));
    case 'silent':
      return refuse(because('identity-unproven', `nothing on Node ${node.name} names ${view.machine.machine}; run doctor for the mend`));
  }
};

/** A record that cannot be read, or that speaks of another machine, was not written for this fence: a person must look. */
export const doubtfulRecord: Rule = ({ cluster: { node }, machine }) => {
  if (!node || node.recordText === null) return null;
  if (!node.record) return refuse(because('record-unreadable', `the fence record on Node ${node.name} cannot be read`));
  if (!node.labelled) return refuse(because('record-not-ours', `Node ${node.name} carries a fence record without our label: whoever wrote it, it was not us`));
  if (node.record.machine === machine.machine) return null;
  return refuse(because('record-of-another-machine', `the fence record on Node ${node.name} speaks of ${node.record.machine}`));
};
