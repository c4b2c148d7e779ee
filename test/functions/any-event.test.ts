import fc from 'fast-check';
import { expect, it } from 'vitest';
import { onEvent } from '../../functions/aws/on-event.ts';
import { createAwsSandbox } from '../../sandbox/aws-sandbox.ts';
import { databaseOnTwoNodes } from '../../sandbox/scenes/ec2-database.ts';
import { stateOf } from '../simulation/state.ts';
import { batchOf, installOver, stateChange } from './install.ts';

/** The event may say anything. The machines run. */
const running = createAwsSandbox({ seed: 8, now: Date.UTC(2026, 0, 1) });
const scene = databaseOnTwoNodes(running);

const instance = fc.constantFrom(scene.holder, scene.spare, 'i-0123456789abcdef0', 'i-', '');
const state = fc.oneof(fc.constantFrom('stopped', 'terminated', 'STOPPED', 'stopping', 'running'), fc.string());
const wellFormed = fc.tuple(instance, state).map(([id, word]) => stateChange(id, word));
const spoiled = fc
  .tuple(wellFormed, fc.constantFrom('detail', 'detail-type', 'source', 'id', 'account', 'region'), fc.jsonValue())
  .map(([event, key, value]) => ({ ...event, [key]: value }));
const cutOff = fc
  .tuple(wellFormed, fc.nat({ max: 400 }))
  .map(([event, length]) => JSON.stringify(event).slice(0, length));
const forged = fc.tuple(instance, fc.jsonValue()).map(([machine, record]) => ({
  cloudfence: 'look-again',
  machine,
  hops: 1,
  because: 'x',
  event: null,
  eventAt: null,
  record,
}));
const anything = fc.oneof(wellFormed, spoiled, cutOff, forged, fc.jsonValue());

it('no event, however malformed or forged, causes anything without proof, and no message is lost', async () => {
  const before = stateOf(running);
  await fc.assert(
    fc.asyncProperty(fc.array(anything, { minLength: 1, maxLength: 4 }), async (bodies) => {
      const world = running.fork();
      const install = installOver(world);
      const answer = await onEvent(async () => install.dependencies)(batchOf(...bodies), install.context());
      const ours = world.parts.cluster.audit.filter(
        ({ user, resource }) => user === 'kubernetes-admin' && resource !== 'events',
      );
      expect(ours).toEqual([]);
      expect(stateOf(world).disks).toEqual(before.disks);
      expect(answer).toHaveProperty('batchItemFailures');
      const reports = install.lines.length + install.dead.length;
      expect(reports).toBeGreaterThanOrEqual(1);
    }),
    { numRuns: 150, seed: 3 },
  );
});
