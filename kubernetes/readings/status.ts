import type { ReadClusterStanding } from '../../diagnosis/ports.ts';
import type { NodeFacts } from '../../fencing/model/cluster-facts.ts';
import type { Connection, Reader } from '../connection.ts';
import { withReadableAnswers } from '../errors.ts';
import { createCapControl } from '../ledger.ts';
import { hasFenceTraces, hasOwnLabel, nodeFacts } from '../node-facts.ts';
import { nodeIdentitySources, nodePages } from '../node.ts';
import { readSettings, surroundingsIn } from '../settings-map.ts';

/**
 * Lists the Nodes with a taint, a label, or a record of Cloudfence. The API server cannot select Nodes by taint, and a
 * person may remove every label. So this lists all Nodes in pages, and returns only those.
 */
const standingNodes = async (reader: Reader): Promise<readonly NodeFacts[]> => {
  const found: NodeFacts[] = [];
  for await (const page of nodePages(reader))
    found.push(
      ...page
        .filter((node) => hasFenceTraces(node) || hasOwnLabel(node))
        .map((node) => nodeFacts(node, nodeIdentitySources(node))),
    );
  return found;
};

/** Reads the state of one cluster: its fences, its cap, and its pause. It needs no more permissions than a fence. */
export const createStatusReading =
  (name: string, connection: Connection): ReadClusterStanding =>
  (cap, signal) =>
    withReadableAnswers(name, async () => {
      const reader = connection.reader(signal);
      const [nodes, use, settings] = await Promise.all([
        standingNodes(reader),
        createCapControl(connection).status(cap, signal),
        readSettings(reader),
      ]);
      return { nodes, paused: surroundingsIn(settings).paused, cap: use };
    });
