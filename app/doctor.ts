import { CloudfenceError } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { pluralize } from '../fencing/model/reason.ts';
import type { CheckedPermission, Doctor } from '../kubernetes/doctor.ts';
import { type Check, runCheck } from '../providers/check.ts';
import type { OpenedCloud, CloudProbe } from '../providers/plugin.ts';
import { identityChecks } from './identity-checks.ts';
import type { OpenCluster } from './open-clusters.ts';
import type { SearchPorts } from '../diagnosis/target.ts';

/** The checks of `doctor` for one configuration, and its verdict. */

/** The identity whose credentials are checked. */
interface Examined {
  readonly policy: Pick<Policy, 'detach' | 'unreachable'>;
  /** Whether it makes the destructive calls of a fence. If not, the check skips their permissions. */
  readonly runsFences: boolean;
}

/** How the checks ask. A cluster or a cloud that never answers must not hold the others. */
export type AskPorts = Pick<SearchPorts, 'inTime' | 'signal'>;

const cloudChecks = async (
  { where, ask, destructiveCalls }: CloudProbe,
  { policy, runsFences }: Examined,
  machines: readonly MachineId[],
  { inTime, signal }: AskPorts,
): Promise<readonly Check[]> => {
  const what = `${where}: credentials and API access`;
  const reads = await runCheck(what, async () => [{ what, verdict: 'ok', says: await inTime(() => ask(signal)) }]);
  if (!runsFences || reads.some(({ verdict }) => verdict === 'fail')) return reads;
  const tried = await runCheck(`${where}: permission for destructive calls`, async () =>
    (await inTime(() => destructiveCalls({ policy, machines }, signal))).map((check) => ({
      ...check,
      what: `${where}: ${check.what}`,
    })),
  );
  return [...reads, ...tried];
};

const describePermission = ({ verb, group, resource, subresource, namespace, name }: CheckedPermission): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}` +
  `${name === undefined ? '' : ` "${name}"`}${namespace === undefined ? '' : ` in ${namespace}`}`;

/** The cluster's name in the configuration may not be a context of kubectl, so it is only a comment. */
const applyCommand = (manifest: string, cluster: string): string =>
  `kubectl apply -f ${manifest}   # in cluster ${cluster}`;

const RBAC = 'infra/kubernetes/rbac.yaml';
const DIAGNOSE_RBAC = 'infra/kubernetes/diagnose-rbac.yaml';

const permissionCheck = (cluster: string, permission: CheckedPermission): Check => ({
  what: `${cluster}: may ${describePermission(permission)}`,
  verdict: permission.allowed ? 'ok' : 'fail',
  says: permission.allowed ? permission.for : `denied. Cloudfence needs it for ${permission.for}: apply ${RBAC}`,
  ...(!permission.allowed && { next: applyCommand(RBAC, cluster) }),
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
          says:
            'the ConfigMap kube-system/cloudfence-ledger does not exist. Cloudfence fences nothing without it: ' +
            `apply ${RBAC}`,
          next: applyCommand(RBAC, name),
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
      says:
        'the kubeconfig sets insecure-skip-tls-verify, so an attacker on the network can impersonate the API ' +
        'server and read the token: remove it, and set certificate-authority-data to the CA of the cluster',
    },
  ];
};

const accessChecks = (
  opened: OpenCluster,
  { inTime, signal }: AskPorts,
  more: (doctor: Doctor) => Promise<readonly Check[]>,
): Promise<readonly Check[]> => {
  const { name } = opened.cluster;
  return runCheck(`${name}: reachable`, async () => {
    const doctor = await inTime(opened.doctor);
    const version = await inTime(() => versionCheck(name, doctor, signal));
    const permissions = await runCheck(`${name}: permissions`, async () =>
      (await inTime(() => doctor.permissions(signal))).map((permission) => permissionCheck(name, permission)),
    );
    const ledger = await runCheck(`${name}: the ledger`, () => inTime(() => ledgerCheck(name, doctor, signal)));
    return [...trustCheck(name, doctor), ...version, ...permissions, ...ledger, ...(await more(doctor))];
  });
};

/** Returns one line if all reads are allowed, or one for each that is denied. A fence works without them. */
const diagnosisChecks = async (name: string, doctor: Doctor, signal: AbortSignal): Promise<readonly Check[]> => {
  const permissions = await doctor.diagnosisPermissions(signal);
  const denied = permissions.filter(({ allowed }) => !allowed);
  const what = `${name}: diagnose and status may read what they need`;
  if (denied.length === 0)
    return [
      {
        what,
        verdict: 'ok',
        says: `${pluralize(permissions.length, 'read')} for diagnose; status needs those of a fence`,
      },
    ];
  return denied.map((permission) => ({
    what: `${name}: diagnose may ${describePermission(permission)}`,
    verdict: 'warn',
    says: `denied. Its answers lack ${permission.for}: apply ${DIAGNOSE_RBAC}. A fence works without it`,
    next: applyCommand(DIAGNOSE_RBAC, name),
  }));
};

/** Reads a few disks from the cloud, as a diagnosis does. Returns no check if the cluster has no disk of a cloud. */
const diskChecks = async (
  name: string,
  doctor: Doctor,
  { cloud, viewDisks }: Pick<OpenedCloud, 'cloud' | 'viewDisks'>,
  { inTime, signal }: AskPorts,
): Promise<readonly Check[]> => {
  const what = `${name}: diagnose may ask the cloud about disks`;
  try {
    const found = await inTime(() => doctor.someVolumes(signal));
    const volumes = found.filter((volume) => cloud.diskOf(volume) !== null);
    if (volumes.length === 0) return [];
    const answers = await inTime(() => viewDisks(volumes, signal));
    return [{ what, verdict: 'ok', says: `${pluralize(answers.length, 'disk')} answered` }];
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    return [{ what, verdict: 'warn', says: `${error.message}. A diagnosis then does not know who holds a disk` }];
  }
};

const readingChecks = async (
  name: string,
  doctor: Doctor,
  openedCloud: OpenedCloud,
  ports: AskPorts,
): Promise<readonly Check[]> =>
  (
    await Promise.all([
      runCheck(`${name}: diagnose`, () => ports.inTime(() => diagnosisChecks(name, doctor, ports.signal))),
      diskChecks(name, doctor, openedCloud, ports),
    ])
  ).flat();

type Tried = Pick<Examination, 'checks' | 'notTried'>;

const checksOfProbes = async (
  openedCloud: OpenedCloud,
  examined: Examined,
  machines: readonly MachineId[],
  ports: AskPorts,
): Promise<Tried> => {
  const probes = [...openedCloud.probes, ...((await openedCloud.probesOfMachines?.(machines)) ?? [])];
  const checks = await Promise.all(probes.map((probe) => cloudChecks(probe, examined, machines, ports)));
  return { checks: checks.flat(), notTried: probes.flatMap(({ notTried }) => notTried ?? []) };
};

/** The API server answers only for RBAC. Admission is checked only when the request is made. */
const NOT_TRIED_IN_CLUSTERS =
  'Kubernetes: only the permission for each verb was checked: an admission policy or a webhook may still refuse ' +
  'a write';

interface Examination {
  readonly checks: readonly Check[];
  /** The machines that Nodes name. */
  readonly machines: readonly MachineId[];
  /** What could not be checked. */
  readonly notTried: readonly string[];
}

/**
 * Checks whether a fence would work from here: credentials, access to the APIs, each destructive call and verb, the
 * taint, and the identity of each Node.
 */
export const runDoctorChecks = async (
  openedCloud: OpenedCloud,
  clusters: readonly OpenCluster[],
  examined: Examined,
  ports: AskPorts,
): Promise<Examination> => {
  const named = new Set<MachineId>();
  const perCluster = await Promise.all(
    clusters.map((opened) =>
      accessChecks(opened, ports, async (doctor) => [
        ...(await readingChecks(opened.cluster.name, doctor, openedCloud, ports)),
        ...(await runCheck(`${opened.cluster.name}: identities`, () =>
          ports.inTime(() => identityChecks(opened.cluster.name, doctor, openedCloud, named, ports.signal)),
        )),
      ]),
    ),
  );
  const machines = [...named];
  const { checks, notTried } = await checksOfProbes(openedCloud, examined, machines, ports);
  return { checks: [...checks, ...perCluster.flat()], machines, notTried: [...notTried, NOT_TRIED_IN_CLUSTERS] };
};

/** Runs the same checks without the identities of the Nodes, because these do not depend on the credentials. */
export const runAccessChecks = async (
  openedCloud: OpenedCloud,
  clusters: readonly OpenCluster[],
  { machines, ...examined }: Examined & { readonly machines: readonly MachineId[] },
  ports: AskPorts,
): Promise<readonly Check[]> => {
  const perCluster = await Promise.all(clusters.map((opened) => accessChecks(opened, ports, async () => [])));
  const { checks } = await checksOfProbes(openedCloud, examined, machines, ports);
  return [...checks, ...perCluster.flat()];
};
