import { readVariable } from '../../config/environment.ts';
import { gcpEndpoint } from '../../providers/gcp/plugin/register.ts';
import { prepared } from '../serverless/checked-install.ts';
import type { DeployableCloud } from '../serverless/deployer.ts';
import { patienceAt } from '../serverless/patience.ts';
import { apiAt } from './api.ts';
import { checkInstall, type CheckedInstall } from './check.ts';
import { gcpDeployer } from './deployer.ts';
import { environmentOf, installOf } from './install.ts';
import { invokeLocally } from './invoke-locally.ts';
import { releasedRequests } from './released-requests.ts';

const whenRight = (prefix: string) => (checked: CheckedInstall) => {
  const install = installOf(prefix, checked);
  const open = () => {
    const endpoint = gcpEndpoint(readVariable);
    return gcpDeployer(apiAt({ endpoint, wait: patienceAt(endpoint) }), install);
  };
  return { environmentOf: (name: string) => environmentOf(install, name), open };
};

export const gcpDeployable: DeployableCloud = {
  defaults: 'infra/gcp/parameters.yml',
  // The buildpack starts the framework that is named here: https://cloud.google.com/run/docs/write-functions
  manifest: { type: 'commonjs', main: 'index.js', dependencies: { '@google-cloud/functions-framework': '5.0.5' } },
  released: async (defaults) => ({ file: 'requests.json', content: await releasedRequests(defaults) }),
  prepare: ({ service, stage, written }) => prepared(checkInstall(stage, written), whenRight(`${service}-${stage}`)),
  invokeLocally,
};
