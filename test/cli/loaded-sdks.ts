import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LiveCloud } from './live-cloud.ts';
import { runCli, type CliAnswer } from './run-cli.ts';

/** Which SDKs the built CLI loads: each takes time and memory, and only that of the cloud that is meant is worth it. */

/** A module that writes down what is loaded after it. */
const listener = (file: string): string => {
  const source = `import { registerHooks } from 'node:module';
import { appendFileSync } from 'node:fs';
registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(file)}, url + '\\n'); return next(url, context); } });`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
};

const SDKS = ['@aws-sdk', '@azure', '@google-cloud', 'google-auth-library', '@kubernetes'] as const;

/** The CLI's answer, and the SDKs that it loaded on the way. */
export const loadedBy = async (sandbox: Pick<LiveCloud<unknown>, 'kubeconfig' | 'environment'>, ...args: readonly string[]): Promise<{ readonly answer: CliAnswer; readonly sdks: readonly string[] }> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  const file = path.join(folder, 'loaded');
  try {
    const answer = await runCli(args, sandbox, { environment: { NODE_OPTIONS: `--import=${listener(file)}` } });
    const urls = (await readFile(file, 'utf8')).split('\n');
    return { answer, sdks: SDKS.filter((name) => urls.some((url) => url.includes(`/node_modules/${name}/`))) };
  } finally {
    await rm(folder, { recursive: true });
  }
};
