import { onEvent } from '../../../functions/aws/on-event.ts';
import { QUARANTINE } from '../../../kubernetes/names.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { addFault } from '../../../sandbox/ec2/faults.ts';
import { shutdownTakes } from '../../../sandbox/ec2/scenario.ts';
import { batchOf, installOver, stateChange } from '../../functions/install.ts';
import { stage, stopMachine, UNTIL_STOPPED_MS } from '../../simulation/incidents.ts';
import { functionsContract, type OpenFunctions } from './functions-contract.ts';

const open: OpenFunctions = (machine) => {
  const { world, scene } = stage(1);
  if (machine === 'stopping') shutdownTakes(world, scene.holder, 300_000);
  stopMachine(world, scene.holder);
  world.advance(UNTIL_STOPPED_MS);
  const install = installOver(world);
  const deliver = async (...messages: readonly unknown[]) => {
    const answer = await onEvent(async () => install.dependencies)(batchOf(...messages), install.context());
    if (!('batchItemFailures' in answer)) throw new Error('a batch got the answer for a person');
    const failed = answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
    return messages.map((_, at) => (failed.includes(`m-${at}`) ? 'comes back' : 'acknowledged'));
  };
  return {
    event: () => stateChange(scene.holder, machine === 'off' ? 'stopped' : 'stopping'),
    deliver,
    delayed: () =>
      install.sentAgain.map(({ message, delaySeconds }) => ({ text: JSON.stringify(message), seconds: delaySeconds })),
    deliverDelayed: () => deliver(...install.sentAgain.splice(0).map(({ message }) => message)),
    deadLetters: () => install.dead,
    isFenced: () =>
      (getObject(world, 'nodes', scene.nodeOf(scene.holder))?.spec.taints ?? []).some(
        ({ key }) => key === QUARANTINE.key,
      ),
    violations: () => world.parts.ec2.violations,
    breakQueue: () => void (install.outage.queue = true),
    breakCloud: () =>
      addFault(world.parts.ec2, { times: 1_000, mishap: { kind: 'error', status: 503, code: 'Unavailable' } }),
    wait: (ms) => world.advance(ms),
  };
};

functionsContract('AWS', open);
