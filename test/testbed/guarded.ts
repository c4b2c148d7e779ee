import { spawn } from 'node:child_process';
import { openGuard } from './guard.ts';

/**
 * The test of the guard starts this program and kills it. It starts one watched process, and prints the ID of that
 * process.
 */
const watched = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
openGuard().watch(watched);
process.send?.(watched.pid);
process.on('message', () => undefined);
