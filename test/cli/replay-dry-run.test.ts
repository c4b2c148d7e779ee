import { afterEach, beforeEach, expect, it } from 'vitest';
import { stopMachine } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { runCli } from './run-cli.ts';

let sandbox: LiveSandbox;
beforeEach(async () => {
  sandbox = await openLiveSandbox((world, { holder }) => {
    stopMachine(world, holder);
    world.advance(30_000);
  });
});
afterEach(() => sandbox.close());

it('a replay knows a dry run by the event itself, as the function does', async () => {
  const wanted = (dryRun: unknown) => runCli(['replay', '-', '--json'], sandbox, { stdin: JSON.stringify({ instanceId: sandbox.scene.holder, dryRun }) });
  const { code, stdout } = await wanted(true);
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: 'would-fence', dryRun: true });
  expect(await wanted('yes')).toMatchObject({ code: 2, stdout: expect.stringMatching(/`dryRun` is neither true nor false/) });
  expect(stateOf(sandbox.world).nodes.filter((node) => node.includes('quarantine'))).toEqual([]);
});
