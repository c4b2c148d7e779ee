import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Sees to it that nothing outlives this process, however it ends: a shell in a session of its own reads pids from a
 * pipe that only we hold, and kills them all once the pipe breaks, which SIGKILL cannot prevent.
 */
export interface Guard {
  /** From now on the process will not outlive us, nor the dismissal. */
  readonly watch: (child: Pick<ChildProcess, 'pid'>) => void;
  /** Kills all that are watched, and returns when it is done. */
  readonly dismiss: () => Promise<void>;
}

const script = 'pids=""; while read -r pid; do pids="$pids $pid"; done; [ -z "$pids" ] || kill -9 $pids 2>/dev/null';

export const openGuard = (): Guard => {
  const shell = spawn('sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const gone = once(shell, 'exit');
  shell.unref();
  let dismissed = false;
  return {
    watch: ({ pid }) => {
      if (pid === undefined) return;
      if (dismissed) process.kill(pid, 'SIGKILL');
      else shell.stdin.write(`${pid}\n`);
    },
    dismiss: async () => {
      dismissed = true;
      shell.ref();
      shell.stdin.end();
      await gone;
    },
  };
};
