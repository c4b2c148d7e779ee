import { CreateVolumeCommand } from '@aws-sdk/client-ec2';
import type { Testbed } from '../../testbed/testbed.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { addMachine } from '../../testbed/machines.ts';
import type { Pod } from '../../testbed/objects.ts';
import { until } from '../../testbed/until.ts';
import type { VolumeShape } from './volume.ts';
import { anyVolume, claimOf, volumeOf } from './volume.ts';
import type { Workload } from './workload.ts';
import { lonePod, on } from './workload.ts';

/** A part of the cluster that belongs to one test: a namespace, a zone, its nodes, and its volumes. */
export interface Scene {
  readonly testbed: Testbed;
  readonly namespace: string;
  readonly nodes: readonly TestbedNode[];
  /** Disks by claim. */
  readonly disks: ReadonlyMap<string, string>;
  /** A node on which no pods of other scenes are scheduled. */
  readonly addNode: () => Promise<TestbedNode>;
  /** A node on which an unrelated pod already runs. */
  readonly addRefuge: () => Promise<TestbedNode>;
  /** A volume on its own disk, for any claim that requests its class. `disks` has it under the same name. */
  readonly addVolume: (name: string, shape?: Partial<VolumeShape>) => Promise<string>;
  /** The same, bound to a claim with that name. */
  readonly addClaim: (name: string, shape?: Partial<VolumeShape>) => Promise<string>;
  readonly create: (workload: Workload) => Promise<void>;
  readonly pods: (prefix?: string) => readonly Pod[];
  /** Resolves once a pod whose name starts with this text runs there. */
  readonly runs: (prefix: string, node: TestbedNode, withinMs?: number) => Promise<Pod>;
}

/** The slowest of the timers of Kubernetes on the way: two minutes of the attach-detach controller. */
const RUNS_WITHIN_MS = 200_000;

export const BYSTANDER = 'bystander';

let count = 0;

const openNamespace = async ({ admin }: Testbed, title: string): Promise<string> => {
  const namespace = `${title}-${process.pid}-${(count += 1)}`;
  await admin.write('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  await until('the default service account is there', () =>
    admin.get(`/api/v1/namespaces/${namespace}/serviceaccounts/default`),
  );
  return namespace;
};

/**
 * The only kind of volume that several instances may hold.
 * https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volumes-multi.html
 */
const sharedDisk = async ({ client }: Testbed['ec2']): Promise<string> => {
  const wanted = {
    AvailabilityZone: 'us-east-1a',
    Size: 10,
    VolumeType: 'io2',
    Iops: 100,
    MultiAttachEnabled: true,
  } as const;
  return (await client.send(new CreateVolumeCommand(wanted))).VolumeId ?? '';
};

const volumeAdders = (
  { admin, ec2 }: Testbed,
  namespace: string,
  disks: Map<string, string>,
): Pick<Scene, 'addVolume' | 'addClaim'> => {
  const addVolume: Scene['addVolume'] = async (name, changes = {}) => {
    const disk = await (changes.accessMode === 'ReadWriteMany' ? sharedDisk(ec2) : ec2.disk(null));
    await admin.write(
      'POST',
      '/api/v1/persistentvolumes',
      volumeOf(namespace, name, disk, { ...anyVolume, ...changes }),
    );
    disks.set(name, disk);
    return disk;
  };
  const addClaim: Scene['addClaim'] = async (name, changes = {}) => {
    const disk = await addVolume(name, changes);
    await admin.write(
      'POST',
      `/api/v1/namespaces/${namespace}/persistentvolumeclaims`,
      claimOf(namespace, name, { ...anyVolume, ...changes }),
    );
    return disk;
  };
  return { addVolume, addClaim };
};

export const openScene = async (testbed: Testbed, title: string): Promise<Scene> => {
  const namespace = await openNamespace(testbed, title);
  const nodes: TestbedNode[] = [];
  const disks = new Map<string, string>();
  const pods: Scene['pods'] = (prefix = '') =>
    testbed.kubelets.pods
      .all()
      .filter(({ metadata }) => metadata.namespace === namespace && metadata.name.startsWith(prefix));
  const runs: Scene['runs'] = (prefix, { name }, withinMs = RUNS_WITHIN_MS) =>
    until(
      `${prefix} runs on ${name}`,
      async () => pods(prefix).find(({ spec, status }) => spec.nodeName === name && status.phase === 'Running'),
      withinMs,
    );
  const create: Scene['create'] = async ({ group, plural, manifest }) =>
    void (await testbed.admin.write('POST', `${group}/namespaces/${namespace}/${plural}`, manifest(namespace)));
  const addNode = async (): Promise<TestbedNode> => {
    const node = await addMachine(testbed, namespace);
    nodes.push(node);
    return node;
  };
  const addRefuge = async (): Promise<TestbedNode> => {
    const node = await addNode();
    const name = `${BYSTANDER}-${nodes.length}`;
    await create(lonePod(name, { spec: on(node.name) }));
    await runs(name, node);
    return node;
  };
  return {
    testbed,
    namespace,
    nodes,
    disks,
    addNode,
    addRefuge,
    ...volumeAdders(testbed, namespace, disks),
    create,
    pods,
    runs,
  };
};
