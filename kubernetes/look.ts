import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { ClusterFacts } from '../fencing/cluster-facts.ts';
import type { LookRequest } from '../fencing/cluster.ts';
import { namesMachine } from './carriers.ts';
import { readClaimed } from './claims.ts';
import type { Reader } from './connection.ts';
import { followed } from './follow.ts';
import { lookAfterNode } from './look-after-node.ts';
import { readLease } from './lease.ts';
import { nodeFacts } from './node-facts.ts';
import type { NodeLook } from './node-look.ts';
import { readStanding } from './node-look.ts';
import { podFactsOf, readNodePods } from './node-pods.ts';
import type { ServerVersion } from './server-version.ts';
import { readSurroundings } from './surroundings.ts';
import { readVolumes } from './volume-facts.ts';
import { volumeNamed } from './volume-key.ts';

const volumesOnStatus = ({ status }: V1Node) =>
  [...(status?.volumesAttached ?? []).map(({ name }) => name), ...(status?.volumesInUse ?? [])].flatMap((name) => volumeNamed(name) ?? []);

const lookAtNode = async (reader: Reader, request: LookRequest, name: string): Promise<NodeLook> => {
  const [standing, lease, pods] = await Promise.all([readStanding(reader, name), readLease(reader, name), readNodePods(reader, name)]);
  if (!standing || !namesMachine(standing.carriers, request.clues)) return lookAfterNode(reader, request);
  const { remembered, follow } = request;
  const node = nodeFacts(standing.node, standing.carriers);
  const claimed = await readClaimed(reader, pods);
  const volumes = await readVolumes(reader, {
    node: name,
    onStatus: volumesOnStatus(standing.node),
    remembered: [...(remembered?.volumes ?? []), ...(node.record?.volumes ?? [])],
    read: [...claimed.values()],
    owns: () => true,
  });
  return {
    node,
    nodeName: name,
    nameTaken: remembered?.node === name && remembered.nodeUid !== node.uid,
    pods: pods.map((pod) => podFactsOf(pod, claimed)),
    volumes: await Promise.all(volumes.map((volume) => followed(reader, volume, name, follow))),
    lease,
  };
};

/** Reads everything that a decision about one machine needs, in parallel where one read does not need another. */
export const look = async (reader: Reader, version: (reader: Reader) => Promise<ServerVersion>, request: LookRequest): Promise<ClusterFacts> => {
  const [found, surroundings, { taintSupported }] = await Promise.all([
    request.node === null ? lookAfterNode(reader, request) : lookAtNode(reader, request, request.node),
    readSurroundings(reader),
    version(reader),
  ]);
  const fences = surroundings.fences.filter(({ node }) => node !== found.node?.name);
  return { ...found, surroundings: { ...surroundings, fences }, taintSupported };
};
