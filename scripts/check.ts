import { spawn } from 'node:child_process';

/**
 * Runs the quick checks side by side, and prints each result as soon as it is known. The type checker stores what it
 * has learned, so that it only checks what has changed.
 */
const checks: Readonly<Record<string, string>> = {
  style: 'npm run --silent lint',
  types: 'tsc -p . --incremental --tsBuildInfoFile node_modules/.cache/check.tsbuildinfo',
  'architecture and docs': 'vitest run --project unit test/architecture test/docs',
  format: 'npm run --silent format:check',
};

const begun = Date.now();

/** Prints the output of a check only if the check fails. */
const run = async (name: string, command: string): Promise<boolean> => {
  const output: Buffer[] = [];
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on('close', resolve);
  const passed = (await promise) === 0;
  if (!passed) process.stdout.write(Buffer.concat(output));
  console.log(`${passed ? 'passed' : 'FAILED'}  ${name} (${((Date.now() - begun) / 1_000).toFixed(1)} s)`);
  return passed;
};

const passed = await Promise.all(Object.entries(checks).map(([name, command]) => run(name, command)));
process.exitCode = passed.every(Boolean) ? 0 : 1;
