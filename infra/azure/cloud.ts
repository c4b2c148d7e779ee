import { setTimeout as delay } from 'node:timers/promises';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import { lazyCredential } from '../../providers/azure/lazy-credential.ts';
import { readAzurePlace } from '../../wiring/environment.ts';
import type { DeployableCloud, Prepared } from '../serverless/deployer.ts';
import { armAt } from './arm.ts';
import { checkInstall } from './check.ts';
import { azureDeployer } from './deployer.ts';
import { host } from './host.ts';
import { installOf } from './install.ts';
import { invokeLocally } from './invoke-locally.ts';
import { ownSettings } from './settings.ts';

/** A stand-in on this machine does not take minutes. */
const waitFor = (endpoint: string | null) => (ms: number) => delay(endpoint === null ? ms : 5);

const prepared = (prefix: string, stage: string, written: Parameters<DeployableCloud['prepare']>[0]['written']): Prepared => {
  const { faults, install: checked } = checkInstall(stage, written);
  if (checked === null) {
    const refuse = (): never => {
      throw new InvalidConfiguration(faults);
    };
    return { faults, environmentOf: refuse, open: refuse };
  }
  const install = installOf(prefix, checked);
  const open = () => {
    const { endpoint } = readAzurePlace();
    return azureDeployer(armAt({ credential: lazyCredential(), endpoint, wait: waitFor(endpoint) }), install, endpoint);
  };
  return { faults, environmentOf: () => ownSettings(install), open };
};

export const azureDeployable: DeployableCloud = {
  defaults: 'infra/azure/parameters.yml',
  // The worker loads what `main` names: https://learn.microsoft.com/azure/azure-functions/functions-reference-node
  manifest: { type: 'commonjs', main: 'index.js' },
  files: { 'host.json': `${JSON.stringify(host)}\n` },
  prepare: ({ service, stage, written }) => prepared(`${service}-${stage}`, stage, written),
  invokeLocally,
};
