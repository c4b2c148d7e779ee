import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { LookRequest } from '../fencing/cluster.ts';
import type { NodeFacts } from '../fencing/cluster-facts.ts';
import { readSources, searchAttachments } from './attachments-of.ts';
import { namesMachine } from './carriers.ts';
import { readClaimed } from './claims.ts';
import type { Reader } from './connection.ts';
import { followed } from './follow.ts';
import { readLease } from './lease.ts';
import { nodeFacts } from './node-facts.ts';
import type { NodeLook } from './node-look.ts';
import { readStanding } from './node-look.ts';
import { podFactsOf, readNodePods } from './node-pods.ts';
import type { SeenVolume } from './volume-facts.ts';
import { readVolumes } from './volume-facts.ts';
import { attachedInline, inlineHandles } from './volume-handle.ts';
import { volumeKey, volumeNamed } from './volume-key.ts';

/** What attach-detach has attached; what the kubelet says that it uses is no more than its word. */
const volumesReported = ({ status }: V1Node) => (status?.volumesAttached ?? []).flatMap(({ name }) => volumeNamed(name) ?? []);

const volumesOnStatus = (node: V1Node) => [...volumesReported(node), ...(node.status?.volumesInUse ?? []).flatMap((name) => volumeNamed(name) ?? [])];

/** PersistentVolumes of attachments that only the list of all shows: those of a drained Node are on no status any more. */
const searched = async (reader: Reader, { search = false, clues }: LookRequest, node: string) => {
  const attachments = search ? await searchAttachments(reader, node, clues) : [];
  return { read: await readSources(reader, attachments), bare: attachments.flatMap((attachment) => attachedInline(attachment) ?? []) };
};

/**
 * Once all attachments of a Node under fence are gone, their successors are looked at whether or not that is asked for: a
 * run before this one may have died between nudging one of them and taking the nudge off.
 */
const awaitingSuccessors = ({ record }: NodeFacts, volumes: readonly SeenVolume[]): readonly string[] =>
  record?.phase === 'fencing' && volumes.every(({ facts }) => facts.attachment === null) ? volumes.map(({ facts }) => facts.key) : [];

/** Looks at the Node of this name; null when none stands there that names the machine. */
export const lookAtNode = async (reader: Reader, request: LookRequest, name: string): Promise<NodeLook | null> => {
  const [standing, lease, pods] = await Promise.all([readStanding(reader, name), readLease(reader, name), readNodePods(reader, name)]);
  if (!standing || !namesMachine(standing.carriers, request.clues)) return null;
  const { remembered } = request;
  const node = nodeFacts(standing.node, standing.carriers);
  const [claimed, found] = await Promise.all([readClaimed(reader, pods), searched(reader, request, name)]);
  const volumes = await readVolumes(reader, {
    node: name,
    onStatus: volumesOnStatus(standing.node),
    bare: [...inlineHandles(pods), ...found.bare],
    reported: new Set(volumesReported(standing.node).map(volumeKey)),
    remembered: [...(remembered?.volumes ?? []), ...(node.record?.volumes ?? [])],
    read: [...claimed.values(), ...found.read],
    owns: () => true,
  });
  const follow = [...request.follow, ...awaitingSuccessors(node, volumes)];
  return {
    node,
    nodeName: name,
    nameTaken: remembered?.node === name && remembered.nodeUid !== node.uid,
    pods: pods.map((pod) => podFactsOf(pod, claimed)),
    volumes: await Promise.all(volumes.map((volume) => followed(reader, volume, name, follow))),
    lease,
  };
};
