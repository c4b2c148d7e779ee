import { spawn } from 'node:child_process';
import { openGuard } from './guard.ts';

/** Run by the guard's own test, to be killed: has one process watched and tells its pid. */
const watched = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
openGuard().watch(watched);
process.send?.(watched.pid);
process.on('message', () => undefined);
