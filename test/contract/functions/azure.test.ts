import { onEvent } from '../../../functions/azure/on-event.ts';
import { QUARANTINE } from '../../../kubernetes/names.ts';
import { addFault } from '../../../sandbox/azure/faults.ts';
import { deallocate } from '../../../sandbox/azure/machines.ts';
import { shutdownTakes } from '../../../sandbox/azure/scenario.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';
import { azureInstall, gridEvent, takeAll } from '../../functions/azure-install.ts';
import { change, scene } from '../../sandbox/azure/azure-runs.ts';
import { functionsContract, type OpenFunctions } from './functions-contract.ts';

/** A message that failed goes back into the queue, in an envelope with a count. */
const isRetry = (text: string): boolean => text.includes('"cloudfence":"retry"');

const open: OpenFunctions = (machine) => {
  const { world, holder } = scene();
  if (machine === 'stopping') shutdownTakes(world, holder, 300_000);
  change(world, holder, deallocate, machine === 'off' ? 60_000 : 1_000);
  const install = azureInstall(world);
  const queued = () => install.queues['events'] ?? [];
  const deliver = async (...messages: readonly unknown[]) => {
    const before = queued().length;
    // If nothing can be sent, Service Bus delivers the batch again.
    const isReturned = await onEvent(install.getDependencies)(messages, install.context).then(
      () => false,
      () => true,
    );
    const retried = queued()
      .slice(before)
      .map(({ text }) => text)
      .filter(isRetry);
    const comesBack = (message: unknown): boolean => {
      const body = typeof message === 'string' ? message : JSON.stringify(message);
      return isReturned || retried.some((text) => text.includes(JSON.stringify(body)));
    };
    return messages.map((message) => (comesBack(message) ? 'comes back' : 'acknowledged'));
  };
  return {
    event: () => gridEvent(holder),
    deliver,
    delayed: () =>
      queued().map(({ text, notBefore }) => ({ text, seconds: ((notBefore ?? world.now()) - world.now()) / 1_000 })),
    deliverDelayed: () => deliver(...takeAll(install)),
    deadLetters: () =>
      (install.queues['dead-letters'] ?? []).map(({ text, properties }) => ({
        body: text,
        reason: String(properties?.['reason']),
      })),
    isFenced: () =>
      (getObject(world, 'nodes', nodeNameOf(world, holder))?.spec.taints ?? []).some(
        ({ key }) => key === QUARANTINE.key,
      ),
    violations: () => world.parts.azure.violations,
    breakQueue: () => void (install.outage.bus = true),
    breakCloud: () =>
      addFault(world.parts.azure, {
        call: 'machine.get',
        times: 1_000,
        mishap: { kind: 'error', status: 403, code: 'AuthorizationFailed' },
      }),
    wait: (ms) => world.advance(ms),
  };
};

functionsContract('Azure', open);
