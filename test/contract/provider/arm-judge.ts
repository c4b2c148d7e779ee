import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { goVersion } from '../../testbed/toolchain.ts';
import type { Front } from './sandbox-azure-harness.ts';

/** Microsoft's generated fake server between the SDK and the sandbox. arm-judge/main.go describes it. */

export interface ArmJudge {
  readonly front: Front;
  /** The faults that it has found in requests and answers so far. */
  readonly verdicts: readonly string[];
  readonly remove: () => Promise<void>;
}

/**
 * Builds the judge, which takes a minute and a half the first time, and a second or two with Go's cache. @throws
 * NoToolchain
 */
export const buildArmJudge = async (): Promise<ArmJudge> => {
  goVersion();
  const folder = await mkdtemp(path.join(tmpdir(), 'arm-judge-'));
  const binary = path.join(folder, 'arm-judge');
  await promisify(execFile)('go', ['build', '-o', binary, '.'], { cwd: path.join(import.meta.dirname, 'arm-judge') });
  const verdicts: string[] = [];
  return { front: (url) => start(binary, url, verdicts), verdicts, remove: () => rm(folder, { recursive: true }) };
};

/** Its first line is its address, and each later line is a verdict. */
const start = async (binary: string, sandbox: string, verdicts: string[]): ReturnType<Front> => {
  const judge = spawn(binary, [sandbox], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(judge.stdout);
  const [url] = await once(lines, 'line');
  lines.on('line', (line) => verdicts.push(line));
  return {
    url: String(url),
    close: async () => {
      const ended = once(judge, 'exit');
      judge.kill();
      await ended;
    },
  };
};
