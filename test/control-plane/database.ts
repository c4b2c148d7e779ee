import type { Bench } from './bench.ts';
import { DRIVER } from './kubelet-node.ts';
import type { BenchNode } from './machines.ts';
import { addMachine } from './machines.ts';
import type { Node, Pod } from './objects.ts';
import { listOf, node as nodeSchema, volumeAttachment } from './objects.ts';
import { until } from './until.ts';

/** A database of one replica on one EBS volume, with a second node to go to. */
export interface Database {
  readonly disk: string;
  /** Where it runs, and where it may go. */
  readonly home: BenchNode;
  readonly refuge: BenchNode;
  readonly namespace: string;
  readonly pod: () => Pod | undefined;
  /** Resolves once its pod runs on that node. */
  readonly runsOn: (node: BenchNode) => Promise<Pod>;
  /** Resolves once its volume is attached to that node and to no other. */
  readonly movedTo: (node: BenchNode) => Promise<void>;
  /** Names of the nodes that its volume is attached to, as Kubernetes sees it. */
  readonly attachedTo: () => Promise<readonly string[]>;
  readonly readNode: (node: BenchNode) => Promise<Node>;
}

const SIZE = { accessModes: ['ReadWriteOnce'], storageClassName: '' };

/** Kubernetes' slowest own timer on the way there is the attach-detach controller's two minutes. */
const RUNS_WITHIN_MS = 200_000;

let count = 0;

const volumeOf = (namespace: string, disk: string, zone: string) => ({
  metadata: { name: `${namespace}-data` },
  spec: {
    ...SIZE,
    capacity: { storage: '1Gi' },
    persistentVolumeReclaimPolicy: 'Retain',
    csi: { driver: DRIVER, volumeHandle: disk },
    claimRef: { namespace, name: 'data-db-0' },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }] }] } },
  },
});

const claimOf = (namespace: string) => ({
  metadata: { name: 'data-db-0' },
  spec: { ...SIZE, volumeName: `${namespace}-data`, resources: { requests: { storage: '1Gi' } } },
});

const labels = { app: 'db' };

const statefulSet = {
  metadata: { name: 'db' },
  spec: {
    replicas: 1,
    serviceName: 'db',
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: 'db', image: 'example.org/db:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }] },
    },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { ...SIZE, resources: { requests: { storage: '1Gi' } } } }],
  },
};

const install = async ({ admin }: Bench, namespace: string, disk: string): Promise<void> => {
  await admin.write('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  await admin.write('POST', '/api/v1/persistentvolumes', volumeOf(namespace, disk, namespace));
  await admin.write('POST', `/api/v1/namespaces/${namespace}/persistentvolumeclaims`, claimOf(namespace));
  await until('the default service account is there', () => admin.get(`/api/v1/namespaces/${namespace}/serviceaccounts/default`));
  await admin.write('POST', `/apis/apps/v1/namespaces/${namespace}/statefulsets`, statefulSet);
};

/** Sets the scene and resolves once the database runs. */
export const addDatabase = async (bench: Bench): Promise<Database> => {
  const { admin, kubelets, ec2 } = bench;
  const namespace = `db-${process.pid}-${(count += 1)}`;
  const [home, disk] = await Promise.all([addMachine(bench, namespace), ec2.disk(null)]);
  await install(bench, namespace, disk);
  const pod = () => kubelets.pods.get(`${namespace}/db-0`);
  const runsOn = (where: BenchNode) =>
    until(`the database runs on ${where.name}`, async () => {
      const found = pod();
      return found?.spec.nodeName === where.name && found.status.phase === 'Running' ? found : null;
    }, RUNS_WITHIN_MS);
  await runsOn(home);
  const refuge = await addMachine(bench, namespace);
  const attachedTo = async (): Promise<readonly string[]> => {
    const { items } = listOf(volumeAttachment).parse(await admin.get('/apis/storage.k8s.io/v1/volumeattachments'));
    return items.filter(({ spec, status }) => spec.source.persistentVolumeName === `${namespace}-data` && status.attached).map(({ spec }) => spec.nodeName);
  };
  return {
    disk,
    home,
    refuge,
    namespace,
    pod,
    runsOn,
    attachedTo,
    movedTo: async ({ name }) => void (await until(`the volume is attached to ${name}`, async () => (await attachedTo()).join() === name)),
    readNode: async ({ name }) => nodeSchema.parse(await admin.get(`/api/v1/nodes/${name}`)),
  };
};
