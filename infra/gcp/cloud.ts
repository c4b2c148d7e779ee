import { setTimeout as delay } from 'node:timers/promises';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import { readGcpEndpoint } from '../../wiring/environment.ts';
import type { DeployableCloud, Prepared } from '../serverless/deployer.ts';
import { apiAt } from './api.ts';
import { checkInstall } from './check.ts';
import { gcpDeployer } from './deployer.ts';
import { environmentOf, installOf } from './install.ts';
import { invokeLocally } from './invoke-locally.ts';

/** A stand-in on this machine does not take minutes to build. */
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
    const endpoint = readGcpEndpoint();
    return gcpDeployer(apiAt({ endpoint, wait: waitFor(endpoint) }), install);
  };
  return { faults, environmentOf: (name) => environmentOf(install, name), open };
};

export const gcpDeployable: DeployableCloud = {
  defaults: 'infra/gcp/parameters.yml',
  // The buildpack starts the framework that is named here: https://cloud.google.com/run/docs/write-functions
  manifest: { type: 'commonjs', main: 'index.js', dependencies: { '@google-cloud/functions-framework': '5.0.5' } },
  prepare: ({ service, stage, written }) => prepared(`${service}-${stage}`, stage, written),
  invokeLocally,
};
