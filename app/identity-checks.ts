import { CloudfenceError } from '../fencing/model/errors.ts';
import type { MachineFacts, MachineId } from '../fencing/model/machine.ts';
import { proveIdentity } from '../fencing/rules/identity.ts';
import type { Doctor, NodeIdentity } from '../kubernetes/doctor.ts';
import type { Check } from '../providers/check.ts';
import type { OpenedCloud } from '../providers/plugin.ts';

/**
 * Checks whether each Node names its machine. If a cloud reuses names, also checks which machine of that name is meant.
 */

const machinesOfSources = (
  { identitySources }: NodeIdentity,
  { cloud }: Pick<OpenedCloud, 'cloud'>,
): readonly MachineId[] => [...new Set(identitySources.map(cloud.machineOf).filter((machine) => machine !== null))];

/**
 * Returns the cloud's answer about the machines, or nothing if the cloud does not answer. A separate check reports
 * that. The identities of the Nodes are shown in any case.
 */
const factsOf = async (
  machines: readonly MachineId[],
  { cloud }: Pick<OpenedCloud, 'cloud'>,
  signal: AbortSignal,
): Promise<readonly MachineFacts[]> => {
  try {
    return machines.length === 0 ? [] : await cloud.look(machines, { disks: false }, signal);
  } catch (error) {
    if (error instanceof CloudfenceError) return [];
    throw error;
  }
};

const judgeIdentity = (
  identity: NodeIdentity,
  machine: MachineId,
  facts: MachineFacts | undefined,
  { cloud }: Pick<OpenedCloud, 'cloud'>,
): Omit<Check, 'what'> => {
  const now = facts?.incarnation?.id;
  if (!facts || now === undefined) return { verdict: 'ok', says: machine };
  switch (proveIdentity(identity, facts, cloud.identityRulesFor?.(machine) ?? cloud)) {
    case 'proven':
      return { verdict: 'ok', says: `${machine} (${now})` };
    case 'contradicted':
      return {
        verdict: 'fail',
        says:
          `${machine} is now ${now}, but the Node belongs to an earlier machine of that name: delete the Node ` +
          'and let its kubelet register again',
        next: `kubectl delete node ${identity.node}`,
      };
    case 'silent':
      return {
        verdict: 'fail',
        says:
          `${machine} is a name that the cloud can reuse, and nothing on the Node shows that it means ${now}: if ` +
          `it does, annotate the Node with cloudfence.dev/instance-id=${now}`,
        next: `kubectl annotate node ${identity.node} cloudfence.dev/instance-id=${now}`,
      };
  }
};

interface MachinesSoFar {
  readonly facts: ReadonlyMap<MachineId, MachineFacts>;
  /** For each machine, the Node that names it. */
  readonly takenBy: Map<MachineId, string>;
}

const identityCheck = (
  cluster: string,
  identity: NodeIdentity,
  openedCloud: Pick<OpenedCloud, 'cloud'>,
  { facts, takenBy }: MachinesSoFar,
): Check => {
  const what = `${cluster}: Node ${identity.node} names its machine`;
  const [machine, second] = machinesOfSources(identity, openedCloud);
  if (machine === undefined)
    return {
      what,
      verdict: 'fail',
      says:
        'nothing on the Node names a machine: start its kubelet with --provider-id, or install the CSI driver on ' +
        'it',
    };
  if (second !== undefined)
    return {
      what,
      verdict: 'fail',
      says: `the Node names both ${machine} and ${second}: delete the Node and let its kubelet register again`,
    };
  const other = takenBy.get(machine);
  takenBy.set(machine, identity.node);
  if (other !== undefined)
    return { what, verdict: 'fail', says: `Node ${other} also names ${machine}: delete the Node that is not running` };
  return { what, ...judgeIdentity(identity, machine, facts.get(machine), openedCloud) };
};

/**
 * Checks the identities of a cluster's Nodes, and adds every machine that a Node names to `named`.
 * @throws Unavailable, PermissionDenied if the cluster does not answer
 */
export const identityChecks = async (
  cluster: string,
  doctor: Doctor,
  openedCloud: Pick<OpenedCloud, 'cloud'>,
  named: Set<MachineId>,
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const takenBy = new Map<MachineId, string>();
  const checks: Check[] = [];
  for await (const page of doctor.identities(signal)) {
    const machines = [...new Set(page.flatMap((identity) => machinesOfSources(identity, openedCloud)))];
    for (const machine of machines) named.add(machine);
    const facts = new Map((await factsOf(machines, openedCloud, signal)).map((one) => [one.machine, one]));
    checks.push(...page.map((identity) => identityCheck(cluster, identity, openedCloud, { facts, takenBy })));
  }
  return checks;
};
