import { CloudfenceError } from '../fencing/errors.ts';
import type { MachineFacts, MachineId } from '../fencing/machine.ts';
import { identityOf } from '../fencing/rules/identity.ts';
import type { Doctor, NodeIdentity } from '../kubernetes/doctor.ts';
import type { Check } from './check.ts';
import type { CloudKit } from './cloud-kit.ts';

/** Whether each Node names its machine, and where names are handed on, which machine of that name. */

const machinesNamed = ({ carriers }: NodeIdentity, { cloud }: Pick<CloudKit, 'cloud'>): readonly MachineId[] =>
  [...new Set(carriers.map(cloud.machineOf).filter((machine) => machine !== null))];

/** A cloud that does not answer has a line of its own: what the Nodes say is shown all the same. */
const factsOf = async (machines: readonly MachineId[], { cloud }: Pick<CloudKit, 'cloud'>, signal: AbortSignal): Promise<readonly MachineFacts[]> => {
  try {
    return machines.length === 0 ? [] : await cloud.look(machines, { disks: false }, signal);
  } catch (error) {
    if (error instanceof CloudfenceError) return [];
    throw error;
  }
};

const judged = (identity: NodeIdentity, machine: MachineId, facts: MachineFacts | undefined, { cloud }: Pick<CloudKit, 'cloud'>): Omit<Check, 'what'> => {
  const now = facts?.incarnation?.id;
  if (!facts || now === undefined) return { verdict: 'ok', says: machine };
  switch (identityOf(identity, facts, cloud.readingFor?.(machine) ?? cloud)) {
    case 'proven':
      return { verdict: 'ok', says: `${machine} (${now})` };
    case 'contradicted':
      return { verdict: 'fail', says: `${machine} is ${now} now, and the Node was another of that name: delete the Node and let its kubelet register again` };
    case 'silent':
      return { verdict: 'fail', says: `${machine}, a name that is handed on, and nothing says that it means ${now}: annotate the Node with cloudfence.dev/instance-id=${now} if it does` };
  }
};

interface Seen {
  readonly facts: ReadonlyMap<MachineId, MachineFacts>;
  /** Nodes by the machine that they name. */
  readonly takenBy: Map<MachineId, string>;
}

const identityCheck = (cluster: string, identity: NodeIdentity, kit: Pick<CloudKit, 'cloud'>, { facts, takenBy }: Seen): Check => {
  const what = `${cluster}: Node ${identity.node} names its machine`;
  const [machine, second] = machinesNamed(identity, kit);
  if (machine === undefined) return { what, verdict: 'fail', says: 'nothing does: start its kubelet with --provider-id, or install the CSI driver on it' };
  if (second !== undefined) return { what, verdict: 'fail', says: `it names ${machine} and ${second}: delete the Node and let its kubelet register again` };
  const other = takenBy.get(machine);
  takenBy.set(machine, identity.node);
  if (other !== undefined) return { what, verdict: 'fail', says: `${other} names ${machine} too: delete the one that is not running` };
  return { what, ...judged(identity, machine, facts.get(machine), kit) };
};

/** `named` is told of every machine that a Node names. @throws Unavailable, Denied when the cluster does not answer */
export const identityChecks = async (cluster: string, doctor: Doctor, kit: Pick<CloudKit, 'cloud'>, named: Set<MachineId>, signal: AbortSignal): Promise<readonly Check[]> => {
  const takenBy = new Map<MachineId, string>();
  const checks: Check[] = [];
  for await (const page of doctor.identities(signal)) {
    const machines = [...new Set(page.flatMap((identity) => machinesNamed(identity, kit)))];
    for (const machine of machines) named.add(machine);
    const facts = new Map((await factsOf(machines, kit, signal)).map((one) => [one.machine, one]));
    checks.push(...page.map((identity) => identityCheck(cluster, identity, kit, { facts, takenBy })));
  }
  return checks;
};
