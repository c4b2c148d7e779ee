import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../../testbed/free-ports.ts';

/** The only place where the tests read the path of moto: CLOUDFENCE_MOTO_SERVER, or what .ci/install-moto installs. */
const usual = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'cloudfence',
  'moto-5.2.5',
  'bin',
  'moto_server',
);
const program = process.env['CLOUDFENCE_MOTO_SERVER'] ?? usual;

export interface MotoServer {
  readonly url: string;
  readonly pid: number | undefined;
  readonly close: () => Promise<void>;
}

/** Starts the moto server on a free port of 127.0.0.1. */
export const startMoto = async (): Promise<MotoServer> => {
  if (!existsSync(program))
    throw new Error(`these tests need the moto server, which is not at ${program}: install it with .ci/install-moto`);
  const [port] = await freePorts(1);
  const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await untilAnswering(url);
  return {
    url,
    pid: child.pid,
    close: async () => {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
};

const untilAnswering = async (url: string, attempts = 300): Promise<void> => {
  const answers = await fetch(`${url}/moto-api/`).then(
    () => true,
    () => false,
  );
  if (answers) return;
  if (attempts === 0) throw new Error(`the moto server at ${url} does not answer`);
  await delay(100);
  return untilAnswering(url, attempts - 1);
};
