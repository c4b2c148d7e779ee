import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Makes sure that nothing outlives this process, however it ends. A shell in its own session reads process IDs from a
 * pipe that only this process has open, and kills them all once the pipe breaks. Even SIGKILL cannot prevent that.
 */
export interface Guard {
  /** From now on, the process does not outlive this one, or the dismissal. */
  readonly watch: (child: Pick<ChildProcess, 'pid'>) => void;
  /** Kills all watched processes, and returns when that is done. */
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
