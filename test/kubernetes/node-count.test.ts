import { expect, it } from 'vitest';
import type { Transport } from '../../kubernetes/exchange.ts';
import { makeNode, unhurried } from '../contract/cluster/harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, faultyCluster } from './wire.ts';

/** The number of Nodes, on which the cap depends. */

/**
 * An API server that does not say how many items are left.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/list-meta/
 */
const withoutRemaining =
  (transport: Transport): Transport =>
  async (...request) => {
    const answer = await transport(...request);
    return { ...answer, body: answer.body.replace(/,?"remainingItemCount":\d+/, '') };
  };

it('is right although the API server does not say how many Nodes are left', async () => {
  const stage = faultyCluster({});
  for (let count = 0; count < 10; count += 1) await makeNode(stage);
  const cluster = clusterOver(withoutRemaining(inProcess(stage.server)));
  const cap = { share: 0.3, atOnce: 0.3 };
  const reserve = (machine: string) => cluster.reserve({ machine, boot: 'boot-1', cap, onlyAsked: false }, unhurried());
  const says = [await reserve('i-1'), await reserve('i-2'), await reserve('i-3'), await reserve('i-4')];
  expect(says.map(({ nodes }) => nodes)).toEqual([10, 10, 10, 10]);
  expect(says.map(({ admitted }) => admitted)).toEqual([true, true, true, false]);
});
