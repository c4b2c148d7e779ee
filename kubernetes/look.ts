import type { ClusterFacts } from '../fencing/cluster-facts.ts';
import type { LookRequest } from '../fencing/cluster.ts';
import type { Reader } from './connection.ts';
import { lookAfterNode } from './look-after-node.ts';
import { lookAtNode } from './look-at-node.ts';
import type { NodeLook } from './node-look.ts';
import type { ServerVersion } from './server-version.ts';
import { readSurroundings } from './surroundings.ts';

const lookForMachine = async (reader: Reader, request: LookRequest, now: () => number): Promise<NodeLook> => {
  const found = request.node === null ? null : await lookAtNode(reader, request, request.node);
  return found ?? lookAfterNode(reader, request, now);
};

/** What a look needs beside the API server that it reads. */
export interface LookAids {
  readonly version: (reader: Reader) => Promise<ServerVersion>;
  /** Epoch ms. */
  readonly now: () => number;
}

/** Reads everything that a decision about one machine needs, in parallel where one read does not need another. */
export const look = async (reader: Reader, { version, now }: LookAids, request: LookRequest): Promise<ClusterFacts> => {
  const [found, surroundings, { taintSupported }] = await Promise.all([
    lookForMachine(reader, request, now),
    readSurroundings(reader),
    version(reader),
  ]);
  return { ...found, surroundings, taintSupported };
};
