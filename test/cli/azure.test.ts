import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AzureWorld } from '../../sandbox/azure-sandbox.ts';
import { deallocate, start } from '../../sandbox/azure/machines.ts';
import { machineIn } from '../../sandbox/azure/state.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { loadedBy } from './loaded-sdks.ts';
import { openLiveAzure } from './live-azure.ts';
import type { LiveCloud } from './live-cloud.ts';
import { runCli } from './run-cli.ts';

/** The CLI without a hint about the cloud. AWS is not configured at all. */

const recordOn = ({ world, node }: LiveCloud<AzureWorld>): unknown =>
  JSON.parse(getObject(world, 'nodes', node)?.metadata.annotations?.['cloudfence.dev/fence'] ?? 'null');

describe('a cluster on Azure', () => {
  let live: LiveCloud<AzureWorld>;
  beforeAll(async () => {
    live = await openLiveAzure((world, holder) => {
      const machine = machineIn(world, holder);
      if (machine) deallocate(world, machine);
    });
  });
  afterAll(() => live.close());
  const cli = (...args: readonly string[]) => runCli(args, live);

  it('doctor checks only Azure, and identifies each machine by its vmId', async () => {
    const { code, stdout } = await cli('doctor');
    expect(stdout).toMatch(
      /^ok {4}azure 11112222-.*: credentials and API access {2}— can read machines and disks in the whole subscription/m,
    );
    expect(stdout).toMatch(/Node aks-pool-vmss\w+ names its machine {2}— \/subscriptions\/\S+ \(a1b2c3d4-/);
    expect(stdout).not.toMatch(/aws|gcp/);
    expect(stdout).toMatch(/^not tried: Azure: there is no dry run/m);
    expect(code).toBe(0);
  });

  it('Cloudfence does not look for a machine of Azure if no subscription is set', async () => {
    const answer = await runCli(['fence', live.scene.spare], live, { environment: { AZURE_SUBSCRIPTION_ID: '' } });
    expect(answer).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('no subscription is set: set AZURE_SUBSCRIPTION_ID'),
    });
  });

  it("loads no other cloud's SDK", async () => {
    expect(await loadedBy(live, 'fence', live.scene.spare, '--json')).toMatchObject({
      answer: { code: 0 },
      sdks: ['@azure', '@kubernetes'],
    });
  });

  it('an event is understood, and its machine is fenced with the name of its cloud', async () => {
    const [event] = live.world.parts.azure.events;
    const { code, stdout } = await runCli(['replay', '-', '--json'], live, { stdin: JSON.stringify([event]) });
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 0,
      outcome: 'fenced',
      node: live.node,
      instance: live.scene.holder,
    });
    expect(recordOn(live)).toMatchObject({ cloud: 'azure', machine: live.scene.holder });
    expect(live.world.parts.azure.violations).toEqual([]);
  });

  it('an event of a scale set means the machines of the set', async () => {
    const set = live.scene.holder.replace(/\/virtualmachines\/.*/, '');
    const { code, stdout } = await runCli(['replay', '-', '--json'], live, {
      stdin: JSON.stringify({ resourceId: set }),
    });
    const { results }: { results: readonly { instance: string; outcome: string }[] } = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(results.map(({ instance }) => instance).toSorted()).toEqual(
      [live.scene.holder, live.scene.spare].toSorted(),
    );
  });

  it('release by Node name finds the cloud', async () => {
    expect(await cli('release', live.node)).toMatchObject({ code: 4, stdout: expect.stringContaining('--accept') });
    Object.assign(live.world.parts.azure.knobs, { bootTakes: 500, startShowsStopped: 0 });
    const machine = machineIn(live.world, live.scene.holder);
    if (machine) start(live.world, machine);
    await expect.poll(() => machineIn(live.world, live.scene.holder)?.power).toMatch(/starting|running/);
    const answer = await cli('release', live.node, '--json', '--timeout', '60s');
    expect(JSON.parse(answer.stdout)).toMatchObject({
      outcome: 'released',
      steps: [{ step: 'release-node', result: 'done' }],
    });
  });
});
