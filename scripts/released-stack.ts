import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { PLACEHOLDER, releasedStack } from '../infra/serverless/released-stack.ts';
import { repositoryRoot } from './bundle.ts';

const CLUSTERS = JSON.stringify([{ name: 'placeholder', secret: 'placeholder' }]);

/**
 * Writes the CloudFormation template: the output of `serverless package`, with parameters in place of a stage's file.
 */
export const writeStack = async (version: string, into: string): Promise<void> => {
  const work = await mkdtemp(path.join(tmpdir(), 'cloudfence-stack-'));
  const options = [
    'package',
    '--stage',
    PLACEHOLDER.stage,
    '--region',
    PLACEHOLDER.region,
    '--param',
    `clusters=${CLUSTERS}`,
    '--package',
    work,
  ];
  await promisify(execFile)(
    process.execPath,
    [path.join(repositoryRoot, 'node_modules/serverless/bin/serverless.js'), ...options],
    { cwd: repositoryRoot },
  );
  const packaged: unknown = JSON.parse(
    await readFile(path.join(work, 'cloudformation-template-update-stack.json'), 'utf8'),
  );
  await writeFile(
    path.join(into, 'cloudformation.json'),
    `${JSON.stringify(releasedStack(packaged, version), null, 2)}\n`,
  );
  await rm(work, { recursive: true });
};
