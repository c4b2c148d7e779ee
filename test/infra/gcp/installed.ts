import { fileURLToPath } from 'node:url';
import { apiAt } from '../../../infra/gcp/api.ts';
import { checkInstall, installOf } from '../../../infra/gcp/install.ts';
import { gcpDeployer } from '../../../infra/gcp/deployer.ts';
import { fromFile, type Written } from '../../../infra/serverless/deployer.ts';
import { functionNames } from '../../../infra/gcp/names.ts';
import type { Management } from './management.ts';
import { PROJECT } from './store.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export const defaults: Written = fromFile(root, 'infra/gcp/parameters.yml');

export const plain: Written = {
  project: PROJECT,
  clusters: [{ name: 'prod', secretManager: { secret: `projects/${PROJECT}/secrets/prod-kubeconfig` } }],
};

/** @throws with the faults of what is written */
export const installWith = (written: Written = {}, stage = 'prod') => {
  const { install, faults } = checkInstall(stage, { ...defaults, ...plain, ...written });
  if (install === null) throw new Error(faults.join('; '));
  return installOf(`cloudfence-${stage}`, install);
};

/** Waiting is the stand-in's virtual time. */
export const deployerAt = ({ url, wait }: Pick<Management, 'url' | 'wait'>, written: Written = {}) =>
  gcpDeployer(apiAt({ endpoint: url, wait }), installWith(written));

export const packaged = (change = '') =>
  functionNames.map((name) => ({ name, zip: Buffer.from(`the code of ${name}${change}`) }));
