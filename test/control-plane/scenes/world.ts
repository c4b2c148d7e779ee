import { DescribeVolumesCommand } from '@aws-sdk/client-ec2';
import type { TestbedNode } from '../../testbed/machines.ts';
import type { Pod } from '../../testbed/objects.ts';
import { listOf, node as nodeSchema, volumeAttachment } from '../../testbed/objects.ts';
import type { Scene } from './scene.ts';
import { volumeName } from './volume.ts';

/** Reads a scene from outside: which machine holds each disk, and what Cloudfence has left on the Nodes. */
export interface World {
  /** The names of the nodes that have the volume, by claim: according to EC2 and to Kubernetes. */
  readonly volumes: Readonly<
    Record<string, { readonly ec2: readonly string[]; readonly kubernetes: readonly string[] }>
  >;
  /** Our taints, labels, and annotations by node. */
  readonly ours: Readonly<Record<string, readonly string[]>>;
  /** Attachments that still have our nudge. */
  readonly nudged: readonly string[];
}

const OURS = /cloudfence|out-of-service/;

/** A fence that has ended: only the quarantine is left. */
export const PARKED = [
  'annotation cloudfence.dev/fence',
  'label cloudfence.node-restriction.kubernetes.io/fenced',
  'label cloudfence.node-restriction.kubernetes.io/record',
  'taint cloudfence.dev/quarantine',
] as const;

/** An unfinished fence: the out-of-service taint is set, and a label says that it is ours. */
export const MARKED: readonly string[] = [
  ...PARKED,
  'label cloudfence.node-restriction.kubernetes.io/out-of-service',
  'taint node.kubernetes.io/out-of-service',
].sort();

const attachmentsIn = async ({ testbed }: Scene) =>
  listOf(volumeAttachment).parse(await testbed.admin.get('/apis/storage.k8s.io/v1/volumeattachments')).items;

type Attachment = Awaited<ReturnType<typeof attachmentsIn>>[number];

/** Returns the name of the node, and what is in progress there, if anything is. */
const saidOf = ({ metadata, spec, status }: Attachment): string => {
  if (metadata.deletionTimestamp != null) return `${spec.nodeName} (going)`;
  return status.attached ? spec.nodeName : `${spec.nodeName} (coming)`;
};

const holdersOf = async ({ testbed, nodes }: Scene, disk: string): Promise<readonly string[]> => {
  const { Volumes } = await testbed.ec2.client.send(new DescribeVolumesCommand({ VolumeIds: [disk] }));
  const instances = (Volumes?.[0]?.Attachments ?? []).map(({ InstanceId = '' }) => InstanceId);
  return instances.map((instance) => nodes.find((node) => node.instance === instance)?.name ?? instance).sort();
};

const oursOn = async ({ testbed }: Scene, { name }: TestbedNode): Promise<readonly string[]> => {
  const { status, body } = await testbed.admin.call('GET', `/api/v1/nodes/${name}`);
  if (status === 404) return ['the Node is gone'];
  const { spec, metadata } = nodeSchema.parse(body);
  const said = [
    ...spec.taints.map(({ key }) => `taint ${key}`),
    ...Object.keys(metadata.labels).map((key) => `label ${key}`),
    ...Object.keys(metadata.annotations).map((key) => `annotation ${key}`),
  ];
  return said.filter((text) => OURS.test(text)).sort();
};

export const worldOf = async (scene: Scene): Promise<World> => {
  const { namespace, disks, nodes } = scene;
  const attachments = await attachmentsIn(scene);
  const volumes = [...disks].map(async ([claim, disk]) => {
    const own = attachments.filter(({ spec }) => spec.source.persistentVolumeName === volumeName(namespace, claim));
    return [claim, { ec2: await holdersOf(scene, disk), kubernetes: own.map(saidOf).sort() }] as const;
  });
  const own = attachments.filter(({ spec }) => nodes.some(({ name }) => name === spec.nodeName));
  return {
    volumes: Object.fromEntries(await Promise.all(volumes)),
    ours: Object.fromEntries(
      await Promise.all(nodes.map(async (node) => [node.name, await oursOn(scene, node)] as const)),
    ),
    nudged: own
      .filter(({ metadata }) => Object.keys(metadata.annotations).some((key) => OURS.test(key)))
      .map(({ spec }) => spec.nodeName),
  };
};

/** Where the volume of each claim should be. Null for nowhere. */
export type VolumeHolders = Readonly<Record<string, TestbedNode | readonly TestbedNode[] | null>>;

const namesOf = (held: VolumeHolders[string]): readonly string[] =>
  [held ?? []]
    .flat()
    .map(({ name }) => name)
    .sort();

/** EC2 and Kubernetes agree about each volume, and nothing of Cloudfence is left except on the fenced nodes. */
export const worldWith = ({ nodes }: Scene, held: VolumeHolders, fenced: readonly TestbedNode[]): World => ({
  volumes: Object.fromEntries(
    Object.entries(held).map(([claim, where]) => [claim, { ec2: namesOf(where), kubernetes: namesOf(where) }]),
  ),
  ours: Object.fromEntries(nodes.map((node) => [node.name, fenced.includes(node) ? PARKED : []])),
  nudged: [],
});

const inWords = ({ metadata, spec }: Pod): string =>
  `${metadata.name} of uid ${metadata.uid} on ${spec.nodeName}${metadata.deletionTimestamp == null ? '' : ', being deleted'}`;

/** Describes every pod of those nodes, so that the text changes as soon as someone touches a pod. */
export const podsOn = ({ pods }: Scene, nodes: readonly TestbedNode[]): readonly string[] =>
  pods()
    .filter(({ spec }) => nodes.some(({ name }) => name === spec.nodeName))
    .map(inWords)
    .sort();
