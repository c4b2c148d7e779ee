import type { Cloud } from '../cloud.ts';
import type { NodeFacts } from '../cluster-facts.ts';
import type { MachineFacts, MachineTarget } from '../machine.ts';
import { because } from '../reason.ts';
import { refuse, type Rule, type View } from '../view.ts';

export type Identity = 'proven' | 'contradicted' | 'silent';

type Reading = Pick<Cloud, 'machineOf' | 'incarnationsOf'>;
type Named = Pick<NodeFacts, 'carriers' | 'created'>;

/** Carriers that speak of no machine of this cloud say nothing either way. */
const byMachine = ({ carriers }: Named, { machine }: MachineFacts, { machineOf }: Reading): Identity => {
  const named = carriers.map(machineOf).filter((id) => id !== null);
  if (named.some((id) => id !== machine)) return 'contradicted';
  return named.length > 0 ? 'proven' : 'silent';
};

/**
 * Where names are handed on, a carrier of the immutable id has to name the one that bears the name now. Without such a
 * carrier a Node that was made later than this machine cannot be that of one before it.
 */
const byIncarnation = ({ carriers, created }: Named, { incarnation }: MachineFacts, { incarnationsOf }: Reading): Identity => {
  if (incarnation === null) return 'proven';
  const claims = carriers.map(incarnationsOf).filter((ids) => ids.length > 0);
  if (claims.some((ids) => !ids.includes(incarnation.id))) return 'contradicted';
  const madeBefore = incarnation.made !== null && incarnation.made <= created;
  return claims.length > 0 || madeBefore ? 'proven' : 'silent';
};

/** A carrier names the machine and none names another; which of those that bore the name one after the other is left open. */
export const namesMachine = (node: Named, machine: MachineFacts, reading: Reading): boolean => byMachine(node, machine, reading) === 'proven';

/** Node names are reused, so a Node is a machine's only if a carrier of the immutable id names it and none names another. */
export const identityOf = (node: Named, machine: MachineFacts, reading: Reading): Identity => {
  const machines = byMachine(node, machine, reading);
  return machines === 'proven' ? byIncarnation(node, machine, reading) : machines;
};

/** The machine as it was looked at: a call for it reaches no later one of its name. */
export const targetMachine = ({ machine }: Pick<View, 'machine'>): MachineTarget => ({
  machine: machine.machine,
  incarnation: machine.incarnation?.id ?? null,
});

const inWords = ({ machine, incarnation }: MachineFacts): string => (incarnation === null ? machine : `${machine} (${incarnation.id})`);

const spelledOut = ({ cluster, reading }: View): string =>
  (cluster.node?.carriers ?? [])
    .map((carrier) => `${carrier.carrier}${carrier.driver ? ` (${carrier.driver})` : ''}: ${reading.machineOf(carrier) ?? carrier.value}`)
    .join(', ');

export const doubtfulIdentity: Rule = (view) => {
  const { node } = view.cluster;
  if (!node) return null;
  switch (identityOf(node, view.machine, view.reading)) {
    case 'proven':
      return null;
    case 'contradicted':
      return refuse(because('identity-contradicted', `Node ${node.name} does not only name ${inWords(view.machine)}: ${spelledOut(view)}`));
    case 'silent':
      return refuse(because('identity-unproven', `nothing on Node ${node.name} names ${inWords(view.machine)}; run doctor for the mend`));
  }
};

/** More than one Node names the machine: neither is acted on. */
export const ambiguousIdentity: Rule = ({ ambiguity }) => (ambiguity ? refuse(ambiguity) : null);

/** A record that cannot be read, or that speaks of another machine, was not written for this fence: a person must look. */
export const doubtfulRecord: Rule = ({ cluster: { node }, machine }) => {
  if (!node || node.recordText === null) return null;
  if (!node.record) return refuse(because('record-unreadable', `the fence record on Node ${node.name} cannot be read`));
  if (node.label === null) return refuse(because('record-not-ours', `Node ${node.name} carries a fence record without our label: whoever wrote it, it was not us`));
  if (node.record.machine === machine.machine) return null;
  return refuse(because('record-of-another-machine', `the fence record on Node ${node.name} speaks of ${node.record.machine}`));
};
