import { CloudfenceError } from '../fencing/errors.ts';
import type { MachineId } from '../fencing/machine.ts';
import type { CheckedPermission, Doctor, NodeIdentity } from '../kubernetes/doctor.ts';
import type { CloudKit, CloudProbe } from './cloud-kit.ts';
import type { OpenCluster } from './open-clusters.ts';

export interface Check {
  readonly what: string;
  readonly ok: boolean;
  readonly says: string;
}

/** A check that could not be made has failed, and says why. */
const checked = async (what: string, ask: () => Promise<readonly Check[]>): Promise<readonly Check[]> => {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CloudfenceError) return [{ what, ok: false, says: error.message }];
    throw error;
  }
};

const cloudChecks = ({ where, ask }: CloudProbe, signal: AbortSignal): Promise<readonly Check[]> => {
  const what = `${where}: credentials and API access`;
  return checked(what, async () => [{ what, ok: true, says: await ask(signal) }]);
};

const spelledOut = ({ verb, group, resource, subresource, namespace }: CheckedPermission): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}${namespace === undefined ? '' : ` in ${namespace}`}`;

const permissionCheck = (cluster: string, permission: CheckedPermission): Check => ({
  what: `${cluster}: may ${spelledOut(permission)}`,
  ok: permission.allowed,
  says: permission.allowed ? permission.for : `denied; it is needed for ${permission.for}: apply infra/kubernetes/rbac.yaml`,
});

const machinesNamed = ({ carriers }: NodeIdentity, kit: CloudKit): readonly MachineId[] =>
  [...new Set(carriers.map(kit.cloud.machineOf).filter((machine) => machine !== null))];

const identityCheck = (cluster: string, identity: NodeIdentity, kit: CloudKit, takenBy: Map<MachineId, string>): Check => {
  const what = `${cluster}: Node ${identity.node} names its machine`;
  const [machine, second] = machinesNamed(identity, kit);
  if (machine === undefined) return { what, ok: false, says: 'nothing does: start its kubelet with --provider-id, or install the CSI driver on it' };
  if (second !== undefined) return { what, ok: false, says: `it names ${machine} and ${second}: delete the Node and let its kubelet register again` };
  const other = takenBy.get(machine);
  takenBy.set(machine, identity.node);
  return other === undefined ? { what, ok: true, says: machine } : { what, ok: false, says: `${other} names ${machine} too: delete the one that is not running` };
};

const identityChecks = async (cluster: string, doctor: Doctor, kit: CloudKit, signal: AbortSignal): Promise<readonly Check[]> => {
  const takenBy = new Map<MachineId, string>();
  const checks: Check[] = [];
  for await (const page of doctor.identities(signal)) checks.push(...page.map((identity) => identityCheck(cluster, identity, kit, takenBy)));
  return checks;
};

const versionCheck = async (name: string, doctor: Doctor, signal: AbortSignal): Promise<readonly Check[]> => {
  const { text, taintSupported } = await doctor.version(signal);
  const says = taintSupported ? 'knows the out-of-service taint' : 'is older than 1.26: fences stand on the quarantine taint alone';
  return [{ what: `${name}: reachable`, ok: true, says: `${text} ${says}` }];
};

const clusterChecks = async (opened: OpenCluster, kit: CloudKit, signal: AbortSignal): Promise<readonly Check[]> => {
  const { name } = opened.cluster;
  return checked(`${name}: reachable`, async () => {
    const doctor = await opened.doctor();
    const version = await versionCheck(name, doctor, signal);
    const permissions = await checked(`${name}: permissions`, async () =>
      (await doctor.permissions(signal)).map((permission) => permissionCheck(name, permission)),
    );
    return [...version, ...permissions, ...(await checked(`${name}: identities`, () => identityChecks(name, doctor, kit, signal)))];
  });
};

/** Whether a fence would work from here: credentials, API access, each verb, the taint, each Node's identity. */
export const checksOf = async (kit: CloudKit, clusters: readonly OpenCluster[], signal: AbortSignal): Promise<readonly Check[]> => {
  const perPlace = await Promise.all(kit.probes.map((probe) => cloudChecks(probe, signal)));
  const perCluster = await Promise.all(clusters.map((opened) => clusterChecks(opened, kit, signal)));
  return [...perPlace.flat(), ...perCluster.flat()];
};
