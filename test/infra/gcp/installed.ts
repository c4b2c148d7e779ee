import { fileURLToPath } from 'node:url';
import { createApi } from '../../../infra/gcp/api.ts';
import { checkInstall, createInstall, functionNames } from '../../../infra/gcp/install.ts';
import { gcpDeployer } from '../../../infra/gcp/deployer.ts';
import { parametersFromFile, type RawParameters } from '../../../infra/serverless/deployer.ts';
import type { Management } from './management.ts';
import { PROJECT } from './store.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export const defaults: RawParameters = parametersFromFile(root, 'infra/gcp/parameters.yml');

export const plain: RawParameters = {
  project: PROJECT,
  clusters: [{ name: 'prod', secretManager: { secret: `projects/${PROJECT}/secrets/prod-kubeconfig` } }],
};

/** @throws with all errors in the configuration */
export const installWith = (written: RawParameters = {}, stage = 'prod') => {
  const { install, faults } = checkInstall(stage, { ...defaults, ...plain, ...written });
  if (install === null) throw new Error(faults.join('; '));
  return createInstall(`cloudfence-${stage}`, install);
};

/** A wait advances the virtual time of the stand-in. */
export const deployerAt = ({ url, wait }: Pick<Management, 'url' | 'wait'>, written: RawParameters = {}) =>
  gcpDeployer(createApi({ endpoint: url, wait }), installWith(written));

export const packaged = (change = '') =>
  functionNames.map((name) => ({ name, zip: Buffer.from(`the code of ${name}${change}`) }));
