import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { binaryOf } from './binaries.ts';
import type { Guard } from './guard.ts';
import type { Component } from './recipe.ts';
import { until } from './until.ts';

/** One component as its own process. */
export interface Program {
  /**
   * Resolves once `ask` returns true.
   * @throws Error with the end of its log if it dies or does not start
   */
  readonly ready: (ask: () => Promise<boolean>) => Promise<void>;
  /** Resolves once it is gone. */
  readonly exit: Promise<'by itself' | 'killed'>;
  /** Kills it, and resolves once it is gone. */
  readonly stop: () => Promise<void>;
}

const LAST_LINES = 15;

/**
 * The programs are written in Go. Less frequent garbage collection uses memory, of which there is enough, and saves
 * processor time.
 */
const COLLECT_LESS = { GOGC: '400' };

export const startProgram = (
  name: Component,
  flags: readonly string[],
  folder: string,
  guard: Guard,
  environment: Readonly<Record<string, string>> = {},
): Program => {
  const log = join(folder, `${name}.log`);
  const output = openSync(log, 'a');
  const child = spawn(binaryOf(name), [...flags], {
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...COLLECT_LESS, ...environment },
  });
  closeSync(output);
  child.unref();
  guard.watch(child);
  let fault: Error | null = null;
  child.once('error', (error) => (fault = error));
  const ended = (): boolean => fault !== null || child.exitCode !== null || child.signalCode !== null;
  const failed = async (cause: unknown): Promise<Error> => {
    const lines = (await readFile(log, 'utf8')).trimEnd().split('\n').slice(-LAST_LINES);
    return new Error(`${name} did not come up; the end of ${log}:\n${lines.join('\n')}`, { cause });
  };
  return {
    exit: new Promise((resolve) => child.once('exit', (code) => resolve(code === null ? 'killed' : 'by itself'))),
    ready: async (ask) => {
      try {
        await until(`${name} is ready`, async () => ended() || (await ask()));
      } catch (cause) {
        throw await failed(cause);
      }
      if (ended()) throw await failed(fault);
    },
    stop: async () => {
      if (ended()) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
};
