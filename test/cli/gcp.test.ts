import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { WholeGceWorld } from '../../sandbox/gce-sandbox.ts';
import { start } from '../../sandbox/gce/instances.ts';
import { stopGuest } from '../../sandbox/gce/scenario.ts';
import { instanceIn } from '../../sandbox/gce/state.ts';
import { loadedBy } from './loaded-sdks.ts';
import type { LiveCloud } from './live-cloud.ts';
import { openLiveGce } from './live-gce.ts';
import { runCli } from './run-cli.ts';

/** The CLI without a hint about the cloud. AWS is not configured at all. */

const recordOn = ({ world, node }: LiveCloud<WholeGceWorld>): unknown =>
  JSON.parse(getObject(world, 'nodes', node)?.metadata.annotations?.['cloudfence.dev/fence'] ?? 'null');

describe('a cluster on Google Cloud', () => {
  let live: LiveCloud<WholeGceWorld>;
  beforeAll(async () => {
    live = await openLiveGce((world, holder) => stopGuest(world, holder));
  });
  afterAll(() => live.close());
  const cli = (...args: readonly string[]) => runCli(args, live);

  it('doctor checks the project of its Nodes and no other', async () => {
    const { code, stdout } = await cli('doctor');
    expect(stdout).toMatch(
      /^ok {4}gcp sandbox-project: credentials and API access {2}— can read projects\/\S+ and its disks/m,
    );
    expect(stdout).toMatch(/Node node-\d+ names its machine {2}— projects\/\S+ \(\d+\)/);
    expect(stdout).not.toMatch(/aws|azure/);
    expect(stdout).toMatch(/^not tried: Compute Engine has no dry run/m);
    expect(code).toBe(0);
  });

  it("loads no other cloud's SDK", async () => {
    expect(await loadedBy(live, 'fence', live.scene.spare, '--json')).toMatchObject({
      answer: { code: 0 },
      sdks: ['@google-cloud', 'google-auth-library', '@kubernetes'],
    });
  });

  it('doctor names the remedy if nothing distinguishes machines with the same name', async () => {
    const node = getObject(live.world, 'nodes', live.node);
    if (!node) throw new Error('no such Node');
    const { creationTimestamp } = node.metadata;
    node.metadata.creationTimestamp = new Date(Date.parse(creationTimestamp) - 86_400_000).toISOString();
    const { code, stdout } = await cli('doctor');
    node.metadata.creationTimestamp = creationTimestamp;
    const id = instanceIn(live.world, live.scene.holder)?.id;
    expect(stdout).toContain(`annotate the Node with cloudfence.dev/instance-id=${id}`);
    expect(code).toBe(1);
  });

  it('sweep finds the machine, and fences it with the name of its cloud', async () => {
    const { code, stdout } = await cli('sweep', '--json');
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 0,
      results: [{ outcome: 'fenced', node: live.node, instance: live.scene.holder }],
    });
    expect(recordOn(live)).toMatchObject({ cloud: 'gcp', machine: live.scene.holder });
    expect(live.world.parts.gce.violations).toEqual([]);
  });

  it('fence by path and fence by Node name mean the same machine', async () => {
    for (const target of [live.scene.holder, live.node]) {
      expect(JSON.parse((await cli('fence', target, '--json')).stdout)).toMatchObject({
        outcome: 'fenced',
        instance: live.scene.holder,
      });
    }
  });

  it('an event starts a run for the machine that it names', async () => {
    const instance = instanceIn(live.world, live.scene.holder);
    if (instance) start(live.world, instance);
    const event = live.world.parts.gce.events.find(
      ({ protoPayload }) => protoPayload.methodName === 'compute.instances.guestTerminate',
    );
    const { stdout } = await runCli(['replay', '-', '--json', '--timeout', '1s'], live, {
      stdin: JSON.stringify(event),
    });
    expect(JSON.parse(stdout)).toMatchObject({ instance: live.scene.holder });
  });
});
