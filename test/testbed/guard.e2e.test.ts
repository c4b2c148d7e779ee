import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openGuard } from './guard.ts';
import { until } from './until.ts';

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
};

const sleeper = () => spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });

describe('a process under a guard', () => {
  it('is stopped when the guard is dismissed', async () => {
    const guard = openGuard();
    const watched = [sleeper(), sleeper()];
    const gone = watched.map((child) => once(child, 'exit'));
    for (const child of watched) guard.watch(child);
    await guard.dismiss();
    expect((await Promise.all(gone)).map(([, signal]) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
  });

  it('is killed at once if it starts after the dismissal', async () => {
    const guard = openGuard();
    await guard.dismiss();
    const late = sleeper();
    const gone = once(late, 'exit');
    guard.watch(late);
    expect((await gone)[1]).toBe('SIGKILL');
  });

  it('does not outlive a parent that is killed', async () => {
    const child = fork(fileURLToPath(new URL('guarded.ts', import.meta.url)), { stdio: 'ignore', execArgv: [] });
    const [message] = await once(child, 'message');
    const pid = Number(message);
    expect(runs(pid)).toBe(true);
    child.kill('SIGKILL');
    await until('the watched process is gone', async () => !runs(pid), 10_000);
    expect(runs(pid)).toBe(false);
  });
});
