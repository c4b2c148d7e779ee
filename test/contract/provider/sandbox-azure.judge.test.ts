import { beforeAll, expect, it } from 'vitest';
import { azureCloud } from '../../../providers/azure/index.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { openArmServer } from '../../../sandbox/azure/arm-server.ts';
import { addMachine } from '../../../sandbox/azure/scenario.ts';
import { azureWorld, credential, patient, prefix, subscription } from '../../sandbox/azure/azure-world.ts';
import { buildArmJudge, type ArmJudge } from './arm-judge.ts';
import { nameReuseContract } from './name-reuse-contract.ts';
import { providerContract } from './provider-contract.ts';
import { sandboxAzureHarness, type Front } from './sandbox-azure-harness.ts';

let judge: ArmJudge | undefined;
beforeAll(async () => {
  judge = await buildArmJudge();
  return judge.remove;
});

const judged: Front = (url) => (judge ? judge.front(url) : Promise.reject(new Error('the judge is not built')));
const machines = () => sandboxAzureHarness({}, `${prefix}/virtualmachines/nobody`, judged);
const instances = () =>
  sandboxAzureHarness({ set: 'Pool' }, `${prefix}/virtualmachinescalesets/pool/virtualmachines/999`, judged);

providerContract("the sandbox's Azure, judged by Microsoft's types", machines);
providerContract("a scale set of the sandbox's Azure, judged by Microsoft's types", instances);
nameReuseContract("the sandbox's Azure, judged by Microsoft's types", machines);

it('lists the machines of a scale set through the judge', async () => {
  const world = azureWorld();
  const machines = [addMachine(world, { set: 'Pool' }), addMachine(world, { set: 'Pool' })];
  const armServer = await openArmServer(world);
  const front = await judged(armServer.url);
  const cloud = azureCloud(azureClients({ subscription, credential, endpoint: front.url }));
  expect(await cloud.expand([`${prefix}/virtualmachinescalesets/pool`], patient())).toEqual(machines);
  await front.close();
  await armServer.close();
});

it('the judge finds no fault with the requests and answers', () => {
  expect(judge?.verdicts).toEqual([]);
});
