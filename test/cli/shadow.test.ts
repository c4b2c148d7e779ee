import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startMachine } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { holderStopped, openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { runCli } from './run-cli.ts';

/** The CLI with a configuration in shadow mode: it fences nothing, and removes what an earlier fence left. */

let sandbox: LiveSandbox;
let config: string;
beforeEach(async () => {
  sandbox = await openLiveSandbox((world, scene) => {
    world.parts.cluster.knobs.attacherDown = true;
    holderStopped(world, scene);
  });
  config = path.join(sandbox.folder, 'shadow.yaml');
  await writeFile(config, `{ shadow: true, clusters: [{ name: default, kubeconfig: ${sandbox.kubeconfig} }] }`);
});
afterEach(() => sandbox.close());

const cli = (...args: string[]) => runCli(args, sandbox);
const inShadow = (...args: string[]) => cli(...args, '--config', config);
const node = () => sandbox.scene.nodeOf(sandbox.scene.holder);
const nodeLine = () => stateOf(sandbox.world).nodes.find((line) => line.startsWith(node()));
const orders = () => sandbox.world.parts.cluster.audit.filter(({ user }) => user === 'kubernetes-admin').length;

const markedAndRunning = async (): Promise<void> => {
  await cli('fence', sandbox.scene.holder, '--timeout', '20s');
  expect(nodeLine()).toContain('out-of-service');
  startMachine(sandbox.world, sandbox.scene.holder);
  sandbox.world.advance(60_000);
};

it('fences nothing', async () => {
  const { code, stdout } = await inShadow('fence', sandbox.scene.holder, '--json');
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: 'would-fence', dryRun: true });
  expect((await inShadow('fence', node())).stdout).toMatch(/^shadow mode: would-fence/m);
  expect(orders()).toBe(0);
});

it.each([
  ['fence', () => ['fence', node()]],
  ['sweep', () => ['sweep']],
  ['release', () => ['release', node()]],
])('lifts our taint from a machine that runs: %s', async (_, args) => {
  await markedAndRunning();
  await inShadow(...args(), '--timeout', '20s');
  expect(nodeLine()).toContain('[cloudfence.dev/quarantine]');
});

it('releases a Node that a person confirms', async () => {
  await markedAndRunning();
  const { code, stdout } = await inShadow('release', node(), '--accept', 'I looked', '--json', '--timeout', '60s');
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: 'released', dryRun: false });
  expect(nodeLine()).toBe(`${node()} []`);
});

it.each([
  ['fence', () => ['fence', node()]],
  ['sweep', () => ['sweep']],
  ['release', () => ['release', node()]],
  ['release --accept', () => ['release', node(), '--accept', 'I looked']],
])('writes nothing with --dry-run, whatever is on the Node: %s', async (_, args) => {
  await markedAndRunning();
  const before = orders();
  expect((await inShadow(...args(), '--dry-run', '--timeout', '20s')).stdout).toMatch(/^dry run: would-release/m);
  expect(orders()).toBe(before);
});
