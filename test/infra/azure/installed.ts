import { createArm } from '../../../infra/azure/arm.ts';
import { azureDeployer } from '../../../infra/azure/deployer.ts';
import { functionNames } from '../../../infra/azure/install.ts';
import type { Deployer } from '../../../infra/serverless/deployer.ts';
import type { Management } from './management.ts';
import { installFor } from './packaged-template.ts';
import { plain } from './stage-files.ts';

/** The code that `serverless` calls, in this process and with the stand-in of ARM. */

export interface Deploying {
  readonly deployer: Deployer;
  readonly install: ReturnType<typeof installFor>;
  /** Its output until now. */
  readonly said: string[];
  /** How long (ms) it waited between one look and the next. */
  readonly waited: number[];
  readonly say: (line: string) => void;
}

export const deployingAt = (management: Management, written: object = {}, stage = 'prod'): Deploying => {
  const waited: number[] = [];
  const arm = createArm({ ...management.trusted, wait: async (ms) => void waited.push(ms) });
  const install = installFor(stage, { ...plain, ...written });
  const said: string[] = [];
  return {
    deployer: azureDeployer(arm, install, management.trusted.endpoint),
    install,
    said,
    waited,
    say: (line) => void said.push(line),
  };
};

/** A zip, reduced to its first two letters. */
export const packaged = (change = '') =>
  functionNames.map((name) => ({ name, zip: Buffer.from(`PK the code of the app${change}`) }));
