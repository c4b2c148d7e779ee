import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { attachmentName } from '../../kubernetes/attachments.ts';
import type { Transport } from '../../kubernetes/exchange.ts';
import {
  DRIVER,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  queryFor,
  unhurried,
  usingClaim,
} from '../contract/cluster/harness.ts';
import { adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, patientClock } from './wire.ts';

/** Runs `event` right before the pods of a Node's name are listed, after everything that was asked for until then. */
const atListOfPods =
  (server: Transport, event: () => Promise<unknown>): Transport =>
  async (request, signal) => {
    if (request.path.includes('fieldSelector=spec.nodeName')) {
      await nextTurn();
      await event();
    }
    return server(request, signal);
  };

it('a Node that appears during the look, under the name of the dead one, keeps its pod', async () => {
  const clock = patientClock();
  const server = sandboxServer({ now: clock.now });
  const admin = adminOf(server);
  const harness = { cluster: clusterOver(inProcess(server), clock), admin, now: clock.now };
  const volume = await makeVolume(harness, 'vol-1');
  const name = attachmentName({ driver: DRIVER, handle: 'vol-1' }, 'node');
  await makeAttachment(harness, name, 'node', volume, 'i-1');
  const { look } = clusterOver(
    atListOfPods(inProcess(server), async () => {
      await makeNode(harness, { name: 'node', machine: 'i-2' });
      await makePod(harness, 'node', usingClaim(volume), { name: 'db-0' });
    }),
    clock,
  );
  const request = { query: queryFor('i-1'), node: null, remembered: null, successorsOf: [] };
  expect(await look(request, unhurried())).toMatchObject({ node: null, nameTaken: true, pods: [] });
  expect(await harness.cluster.look(request, unhurried())).toMatchObject({ nameTaken: true, pods: [] });
});
