import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LiveCloud } from './live-cloud.ts';

export interface CliAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export const launcher = fileURLToPath(new URL('../../cli/cloudfence.js', import.meta.url));

/** The CLI as a child process, as a person starts it; the environment holds nothing but what is given here. */
export const runCli = (
  args: readonly string[],
  sandbox: Pick<LiveCloud<unknown>, 'kubeconfig' | 'environment'>,
  {
    stdin = '',
    environment = {},
  }: { readonly stdin?: string; readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<CliAnswer> =>
  new Promise((resolve) => {
    const env = { ...sandbox.environment, KUBECONFIG: sandbox.kubeconfig, ...environment };
    const child = execFile(process.execPath, [launcher, ...args], { env, encoding: 'utf8' }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr }),
    );
    child.stdin?.end(stdin);
  });
