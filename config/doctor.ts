import { CloudfenceError } from '../fencing/model/errors.ts';
import type { MachineFacts, MachineId } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { proveIdentity } from '../fencing/rules/identity.ts';
import type { CheckedPermission, Doctor, NodeIdentity } from '../kubernetes/doctor.ts';
import { type Check, runCheck } from '../providers/check.ts';
import type { OpenedCloud, CloudProbe } from '../providers/plugin.ts';
import type { OpenCluster } from './open-clusters.ts';

/**
 * The identity whose credentials are checked. If others give the orders, such as a detach, the check skips the orders:
 * what these credentials may order then says nothing.
 */
interface Examined {
  readonly policy: Pick<Policy, 'detach' | 'unreachable'>;
  readonly gives: 'orders' | 'no-orders';
}

const cloudChecks = async (
  { where, ask, destructiveCalls }: CloudProbe,
  { policy, gives }: Examined,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const what = `${where}: credentials and API access`;
  const reads = await runCheck(what, async () => [{ what, verdict: 'ok', says: await ask(signal) }]);
  if (gives === 'no-orders' || reads.some(({ verdict }) => verdict === 'fail')) return reads;
  const tried = await runCheck(`${where}: permission for destructive calls`, async () =>
    (await destructiveCalls({ policy, machines }, signal)).map((check) => ({
      ...check,
      what: `${where}: ${check.what}`,
    })),
  );
  return [...reads, ...tried];
};

const spelledOut = ({ verb, group, resource, subresource, namespace, name }: CheckedPermission): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}${name === undefined ? '' : ` "${name}"`}${namespace === undefined ? '' : ` in ${namespace}`}`;

const permissionCheck = (cluster: string, permission: CheckedPermission): Check => ({
  what: `${cluster}: may ${spelledOut(permission)}`,
  verdict: permission.allowed ? 'ok' : 'fail',
  says: permission.allowed
    ? permission.for
    : `denied. Cloudfence needs it for ${permission.for}: apply infra/kubernetes/rbac.yaml`,
});

const versionCheck = async (name: string, doctor: Doctor, signal: AbortSignal): Promise<readonly Check[]> => {
  const { text, taintSupported } = await doctor.version(signal);
  const what = `${name}: reachable`;
  return taintSupported
    ? [{ what, verdict: 'ok', says: `${text} supports the out-of-service taint` }]
    : [
        {
          what,
          verdict: 'warn',
          says: `${text} is older than 1.26: fences use only the quarantine taint and take longer`,
        },
      ];
};

const ledgerCheck = async (name: string, doctor: Doctor, signal: AbortSignal): Promise<readonly Check[]> => {
  const what = `${name}: the ledger`;
  return (await doctor.ledger(signal))
    ? [{ what, verdict: 'ok', says: 'the ledger exists, so the cap can count fences' }]
    : [
        {
          what,
          verdict: 'fail',
          says: 'the ConfigMap kube-system/cloudfence-ledger does not exist. Cloudfence fences nothing without it: apply infra/kubernetes/rbac.yaml',
        },
      ];
};

const trustCheck = (name: string, doctor: Doctor): readonly Check[] => {
  const what = `${name}: the identity of the API server is verified`;
  if (!doctor.unverified()) return [];
  return [
    {
      what,
      verdict: 'fail',
      says: 'the kubeconfig sets insecure-skip-tls-verify, so an attacker on the network can impersonate the API server and read the token: remove it, and set certificate-authority-data to the CA of the cluster',
    },
  ];
};

const accessChecks = (
  opened: OpenCluster,
  signal: AbortSignal,
  more: (doctor: Doctor) => Promise<readonly Check[]>,
): Promise<readonly Check[]> => {
  const { name } = opened.cluster;
  return runCheck(`${name}: reachable`, async () => {
    const doctor = await opened.doctor();
    const version = await versionCheck(name, doctor, signal);
    const permissions = await runCheck(`${name}: permissions`, async () =>
      (await doctor.permissions(signal)).map((permission) => permissionCheck(name, permission)),
    );
    const ledger = await runCheck(`${name}: the ledger`, () => ledgerCheck(name, doctor, signal));
    return [...trustCheck(name, doctor), ...version, ...permissions, ...ledger, ...(await more(doctor))];
  });
};

const placeChecks = async (
  openedCloud: OpenedCloud,
  examined: Examined,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const places = [...openedCloud.probes, ...((await openedCloud.probesFor?.(machines)) ?? [])];
  return (await Promise.all(places.map((probe) => cloudChecks(probe, examined, machines, signal)))).flat();
};

interface Examination {
  readonly checks: readonly Check[];
  /** The machines that Nodes name. */
  readonly machines: readonly MachineId[];
}

/**
 * Checks whether a fence would work from here: credentials, API access, each order and verb, the taint, and each Node's
 * identity.
 */
export const runDoctorChecks = async (
  openedCloud: OpenedCloud,
  clusters: readonly OpenCluster[],
  examined: Examined,
  signal: AbortSignal,
): Promise<Examination> => {
  const named = new Set<MachineId>();
  const perCluster = await Promise.all(
    clusters.map((opened) =>
      accessChecks(opened, signal, (doctor) =>
        runCheck(`${opened.cluster.name}: identities`, () =>
          identityChecks(opened.cluster.name, doctor, openedCloud, named, signal),
        ),
      ),
    ),
  );
  const machines = [...named];
  return { checks: [...(await placeChecks(openedCloud, examined, machines, signal)), ...perCluster.flat()], machines };
};

/** Runs the same checks without the identities of the Nodes, which do not depend on whose credentials these are. */
export const runAccessChecks = async (
  openedCloud: OpenedCloud,
  clusters: readonly OpenCluster[],
  { policy, machines }: Pick<Examined, 'policy'> & { readonly machines: readonly MachineId[] },
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const perCluster = await Promise.all(clusters.map((opened) => accessChecks(opened, signal, async () => [])));
  return [...(await placeChecks(openedCloud, { policy, gives: 'orders' }, machines, signal)), ...perCluster.flat()];
};

/**
 * The rest of this module checks whether each Node names its machine and, where a cloud reuses names, which machine of
 * that name it means.
 */

const machinesNamed = (
  { identitySources }: NodeIdentity,
  { cloud }: Pick<OpenedCloud, 'cloud'>,
): readonly MachineId[] => [...new Set(identitySources.map(cloud.machineOf).filter((machine) => machine !== null))];

/**
 * Returns what the cloud says about the machines, or nothing when the cloud does not answer. A line of its own reports
 * that. What the Nodes say is shown in any case.
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

const judged = (
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
        says: `${machine} is now ${now}, but the Node belongs to an earlier machine of that name: delete the Node and let its kubelet register again`,
      };
    case 'silent':
      return {
        verdict: 'fail',
        says: `${machine} is a name that the cloud can reuse, and nothing on the Node shows that it means ${now}: if it does, annotate the Node with cloudfence.dev/instance-id=${now}`,
      };
  }
};

interface MachinesSoFar {
  readonly facts: ReadonlyMap<MachineId, MachineFacts>;
  /** The Node that names each machine, by machine. */
  readonly takenBy: Map<MachineId, string>;
}

const identityCheck = (
  cluster: string,
  identity: NodeIdentity,
  openedCloud: Pick<OpenedCloud, 'cloud'>,
  { facts, takenBy }: MachinesSoFar,
): Check => {
  const what = `${cluster}: Node ${identity.node} names its machine`;
  const [machine, second] = machinesNamed(identity, openedCloud);
  if (machine === undefined)
    return {
      what,
      verdict: 'fail',
      says: 'nothing on the Node names a machine: start its kubelet with --provider-id, or install the CSI driver on it',
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
  return { what, ...judged(identity, machine, facts.get(machine), openedCloud) };
};

/**
 * Checks the identities of a cluster's Nodes, and adds every machine that a Node names to `named`.
 * @throws Unavailable, PermissionDenied when the cluster does not answer
 */
const identityChecks = async (
  cluster: string,
  doctor: Doctor,
  openedCloud: Pick<OpenedCloud, 'cloud'>,
  named: Set<MachineId>,
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const takenBy = new Map<MachineId, string>();
  const checks: Check[] = [];
  for await (const page of doctor.identities(signal)) {
    const machines = [...new Set(page.flatMap((identity) => machinesNamed(identity, openedCloud)))];
    for (const machine of machines) named.add(machine);
    const facts = new Map((await factsOf(machines, openedCloud, signal)).map((one) => [one.machine, one]));
    checks.push(...page.map((identity) => identityCheck(cluster, identity, openedCloud, { facts, takenBy })));
  }
  return checks;
};
