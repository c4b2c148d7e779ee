import { lazyCredential } from '../../providers/azure/lazy-credential.ts';
import { azurePlace } from '../../providers/azure/plugin/register.ts';
import { readVariable } from '../../config/environment.ts';
import { prepared } from '../serverless/checked-install.ts';
import type { DeployableCloud } from '../serverless/deployer.ts';
import { patienceAt } from '../serverless/patience.ts';
import { armAt } from './arm.ts';
import { checkInstall, type CheckedInstall } from './check.ts';
import { azureDeployer } from './deployer.ts';
import { host } from './host.ts';
import { installOf } from './install.ts';
import { invokeLocally } from './invoke-locally.ts';
import { appOf } from './names.ts';
import { releasedTemplate } from './released-template.ts';
import { ownSettings } from './settings.ts';

const whenRight = (prefix: string) => (checked: CheckedInstall) => {
  const install = installOf(prefix, checked);
  const open = () => {
    const { endpoint } = azurePlace(readVariable);
    return azureDeployer(armAt({ credential: lazyCredential(), endpoint, wait: patienceAt(endpoint) }), install, endpoint);
  };
  return { environmentOf: (name: string) => ownSettings(install, appOf(name) ?? 'app'), open };
};

export const azureDeployable: DeployableCloud = {
  defaults: 'infra/azure/parameters.yml',
  // The worker loads what `main` names: https://learn.microsoft.com/azure/azure-functions/functions-reference-node
  manifest: { type: 'commonjs', main: 'index.js' },
  files: { 'host.json': `${JSON.stringify(host)}\n` },
  released: async (defaults) => ({ file: 'template.json', content: releasedTemplate(defaults) }),
  prepare: ({ service, stage, written }) => prepared(checkInstall(stage, written), whenRight(`${service}-${stage}`)),
  invokeLocally,
};
