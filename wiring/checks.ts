import type { MachineId } from '../fencing/machine.ts';
import type { CheckedPermission, Doctor } from '../kubernetes/doctor.ts';
import { checked, type Check } from './check.ts';
import type { CloudKit, CloudProbe } from './cloud-kit.ts';
import { identityChecks } from './identity-checks.ts';
import type { OpenCluster } from './open-clusters.ts';

const cloudChecks = ({ where, ask }: CloudProbe, signal: AbortSignal): Promise<readonly Check[]> => {
  const what = `${where}: credentials and API access`;
  return checked(what, async () => [{ what, ok: true, says: await ask(signal) }]);
};

const spelledOut = ({ verb, group, resource, subresource, namespace, name }: CheckedPermission): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}${name === undefined ? '' : ` "${name}"`}${namespace === undefined ? '' : ` in ${namespace}`}`;

const permissionCheck = (cluster: string, permission: CheckedPermission): Check => ({
  what: `${cluster}: may ${spelledOut(permission)}`,
  ok: permission.allowed,
  says: permission.allowed ? permission.for : `denied; it is needed for ${permission.for}: apply infra/kubernetes/rbac.yaml`,
});

const versionCheck = async (name: string, doctor: Doctor, signal: AbortSignal): Promise<readonly Check[]> => {
  const { text, taintSupported } = await doctor.version(signal);
  const says = taintSupported ? 'knows the out-of-service taint' : 'is older than 1.26: fences stand on the quarantine taint alone';
  return [{ what: `${name}: reachable`, ok: true, says: `${text} ${says}` }];
};

const ledgerCheck = async (name: string, doctor: Doctor, signal: AbortSignal): Promise<readonly Check[]> => {
  const ok = await doctor.ledger(signal);
  return [{ what: `${name}: the ledger of fences`, ok, says: ok ? 'the cap has where to count' : 'the ConfigMap kube-system/cloudfence-ledger is gone, and without it nothing is fenced: apply infra/kubernetes/rbac.yaml' }];
};

const clusterChecks = async (opened: OpenCluster, kit: CloudKit, named: Set<MachineId>, signal: AbortSignal): Promise<readonly Check[]> => {
  const { name } = opened.cluster;
  return checked(`${name}: reachable`, async () => {
    const doctor = await opened.doctor();
    const version = await versionCheck(name, doctor, signal);
    const permissions = await checked(`${name}: permissions`, async () =>
      (await doctor.permissions(signal)).map((permission) => permissionCheck(name, permission)),
    );
    const ledger = await checked(`${name}: the ledger of fences`, () => ledgerCheck(name, doctor, signal));
    return [...version, ...permissions, ...ledger, ...(await checked(`${name}: identities`, () => identityChecks(name, doctor, kit, named, signal)))];
  });
};

/** Whether a fence would work from here: credentials, API access, each verb, the taint, each Node's identity. */
export const checksOf = async (kit: CloudKit, clusters: readonly OpenCluster[], signal: AbortSignal): Promise<readonly Check[]> => {
  const named = new Set<MachineId>();
  const perCluster = await Promise.all(clusters.map((opened) => clusterChecks(opened, kit, named, signal)));
  const places = [...kit.probes, ...((await kit.probesFor?.([...named])) ?? [])];
  const perPlace = await Promise.all(places.map((probe) => cloudChecks(probe, signal)));
  return [...perPlace.flat(), ...perCluster.flat()];
};

export type { Check };
