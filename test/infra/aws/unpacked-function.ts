import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { unzip } from '../unzip.ts';

/** Stands in for Lambda: loads a handler from the unpacked zip and calls it once. */
const RUNTIME = `process.once('message', async ({ file, name, event, lastsMs }) => {
  const end = Date.now() + lastsMs;
  try {
    const answer = await require(file)[name](event, { getRemainingTimeInMillis: () => end - Date.now() });
    process.send({ answer }, () => process.exit());
  } catch (error) {
    process.send({ failed: String(error) }, () => process.exit());
  }
});`;

const outcome = z.union([z.object({ answer: z.unknown() }), z.object({ failed: z.string() })]);

export interface Zip {
  readonly file: string;
  /** In the form of the template: the path without extension, a dot, and the name of the export. */
  readonly handler: string;
}

const LASTS_MS = 30_000;

/** The answer of a function from its zip, in a process that has only these variables and its own files. */
export const invokeZip = async (
  { file, handler }: Zip,
  folder: string,
  variables: Readonly<Record<string, string>>,
  event: unknown,
): Promise<unknown> => {
  await unzip(file, folder);
  const runtime = path.join(folder, 'runtime.cjs');
  await writeFile(runtime, RUNTIME);
  const [, at = '', name = ''] = /^(.+)\.(\w+)$/.exec(handler) ?? [];
  const child = fork(runtime, {
    cwd: folder,
    env: { PATH: path.dirname(process.execPath), ...variables },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send({ file: path.join(folder, `${at}.js`), name, event, lastsMs: LASTS_MS });
  const [said]: readonly unknown[] = await once(child, 'message');
  const read = outcome.parse(said);
  if ('failed' in read) throw new Error(read.failed);
  return read.answer;
};
