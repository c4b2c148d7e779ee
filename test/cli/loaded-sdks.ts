import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LiveCloud } from './live-cloud.ts';
import { startCli, type CliAnswer } from './run-cli.ts';

/**
 * Finds which SDKs the built CLI loads. Each of them costs time and memory, so only the SDK of the cloud in use should
 * be loaded.
 */

/** A module that records what is loaded after it. */
const listener = (file: string): string => {
  const source = `import { registerHooks } from 'node:module';
import { appendFileSync } from 'node:fs';
registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(file)}, url + '\\n'); return next(url, context); } });`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
};

/** The files from which a part of the CLI was built. For a module that is not such a part, the module itself. */
const madeOf = async (url: string): Promise<string> =>
  /\/dist\/cli\/[^/]+\.mjs$/.test(url) ? readFile(new URL(`${url}.map`), 'utf8') : url;

const SDKS = ['@aws-sdk', '@azure', '@google-cloud', 'google-auth-library', '@kubernetes'] as const;

/** The answer of the CLI, and the SDKs that it loaded. */
export const loadedBy = async (
  sandbox: Pick<LiveCloud<unknown>, 'kubeconfig' | 'environment'>,
  ...args: readonly string[]
): Promise<{ readonly answer: CliAnswer; readonly sdks: readonly string[] }> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  const file = path.join(folder, 'loaded');
  try {
    const answer = await startCli(args, sandbox, { environment: { NODE_OPTIONS: `--import=${listener(file)}` } });
    const sources = await Promise.all((await readFile(file, 'utf8')).trim().split('\n').map(madeOf));
    return { answer, sdks: SDKS.filter((name) => sources.some((source) => source.includes(`/node_modules/${name}/`))) };
  } finally {
    await rm(folder, { recursive: true });
  }
};
