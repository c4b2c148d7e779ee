import { spawn } from 'node:child_process';
import { openGuard } from './guard.ts';

/** Run by the guard's own test, to be killed: starts one watched process and prints its ID. */
const watched = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
openGuard().watch(watched);
process.send?.(watched.pid);
process.on('message', () => undefined);
