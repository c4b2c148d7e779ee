import { afterAll, beforeAll } from 'vitest';
import { onEvent } from '../../../functions/gcp/on-event.ts';
import { QUARANTINE } from '../../../kubernetes/names.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { createGceSandbox } from '../../../sandbox/gce-sandbox.ts';
import { shutdownTakes, stopGuest } from '../../../sandbox/gce/scenario.ts';
import { gceDatabaseOnTwoNodes, nodeNameOf } from '../../../sandbox/scenes/gce-database.ts';
import { installOver, pushOf } from '../../functions/gcp/install.ts';
import { type KeyServer, openKeyServer } from '../../providers/gcp/key-server.ts';
import { type Ending, functionsContract, type OpenFunctions } from './functions-contract.ts';

let keys: KeyServer;
beforeAll(async () => {
  keys = await openKeyServer();
});
afterAll(() => keys.close());

const open: OpenFunctions = (machine) => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const { holder } = gceDatabaseOnTwoNodes(world);
  world.parts.gce.knobs.shutdownLimit = 600_000;
  if (machine === 'stopping') shutdownTakes(world, holder, 300_000);
  stopGuest(world, holder);
  world.advance(30_000);
  const install = installOver(world, keys);
  const push = async (text: unknown, attributes: Readonly<Record<string, string>>): Promise<Ending> => {
    const { status } = await onEvent(async () => install.dependencies)(pushOf(keys, text, attributes), install.limit());
    return status >= 200 && status < 300 ? 'acknowledged' : 'comes back';
  };
  /** Pub/Sub pushes one message at a time. */
  const deliverAll = async (messages: readonly { readonly text: unknown; readonly attributes: object }[]) => {
    const endings: Ending[] = [];
    for (const { text, attributes } of messages) endings.push(await push(text, { ...attributes }));
    return endings;
  };
  const published = (topic: string) => install.published.filter((message) => message.topic === topic);
  return {
    event: () =>
      world.parts.gce.events.findLast(({ protoPayload }) => protoPayload.methodName.endsWith('guestTerminate')),
    deliver: (...messages) => deliverAll(messages.map((text) => ({ text, attributes: {} }))),
    delayed: () =>
      published('again').map(({ text, attributes }) => ({
        text,
        seconds: (Number(attributes['notBefore']) - world.now()) / 1_000,
      })),
    deliverDelayed: () => deliverAll(published('again').map(({ text, attributes }) => ({ text, attributes }))),
    deadLetters: () =>
      published('dead-letters').map(({ text, attributes }) => ({ body: text, reason: String(attributes['reason']) })),
    isFenced: () =>
      (getObject(world, 'nodes', nodeNameOf(holder))?.spec.taints ?? []).some(({ key }) => key === QUARANTINE.key),
    violations: () => world.parts.gce.violations,
    breakQueue: () => void (install.outage.topics = true),
    breakCloud: () => void (install.outage.compute = true),
    wait: (ms) => world.advance(ms),
  };
};

functionsContract('Google Cloud', open);
