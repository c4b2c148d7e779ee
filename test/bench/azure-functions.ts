import { stat } from 'node:fs/promises';
import path from 'node:path';
import { functionNames } from '../../infra/azure/install.ts';
import { functionSettings } from '../../infra/azure/hosting.ts';
import { installFor } from '../infra/azure/packaged-template.ts';
import { plain } from '../infra/azure/stage-files.ts';
import { workerModules } from '../infra/azure/worker-modules.ts';
import { openService, type PackagedService } from '../infra/packaged-service.ts';
import { unzip } from '../infra/unzip.ts';
import { openAzureScene } from './azure-scene.ts';
import type { Deployed } from './deployed.ts';
import type { BenchedCloud } from './functions.ts';

const exportOf: Readonly<Record<string, string>> = { 'on-event': 'onEvent' };

/** All functions share one package, except the webhook's. */
const deployedIn = async (service: PackagedService): Promise<readonly Deployed[]> => {
  const { code, said, folder } = await service.package('prod', '-c', 'serverless.azure.yml');
  if (code !== 0) throw new Error(said);
  const unpacked = path.join(folder, 'unpacked');
  await unzip(path.join(folder, 'fence.zip'), unpacked);
  const { size: zip } = await stat(path.join(folder, 'fence.zip'));
  const environment = { ...functionSettings(installFor('prod', plain), 'app'), ...workerModules };
  return functionNames
    .filter((name) => name !== 'webhook')
    .map((name) => ({
      name,
      exported: exportOf[name] ?? name,
      zip,
      folder: unpacked,
      file: path.join(unpacked, 'index.js'),
      environment,
    }));
};

const byHand = (resourceId: string) => ({ http: { resourceId } });

/** The event as Event Grid puts it into the queue. */
const deallocated = (machine: string) => ({
  specversion: '1.0',
  type: 'Microsoft.Resources.ResourceActionSuccess',
  id: '1',
  subject: machine,
  data: {
    operationName: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/deallocate/action',
    resourceUri: machine,
  },
});

export const benched: BenchedCloud = {
  title: 'Azure',
  packaged: async () => {
    const service = await openService({ 'prod.azure': plain });
    return { functions: await deployedIn(service), close: service.close };
  },
  calls: 'azure',
  fencing: {
    'on-event': (machine) => ({ message: [deallocated(machine)] }),
    sweep: () => ({ message: {} }),
    replay: byHand,
    fence: byHand,
  },
  openScene: openAzureScene,
  clientAlone: 'test/bench/azure-client-alone.ts',
  aims: { cloudPart: 1.5, kubernetesPart: 1.9, importMs: 150, rssAfterFence: 130 },
};
