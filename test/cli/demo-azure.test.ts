import { describe, expect, it } from 'vitest';
import { demoCloud } from '../../demo/azure-cloud.ts';
import { playScenario } from '../../demo/play.ts';
import { scenarioNamed, scenarios } from '../../demo/scenarios.ts';
import { InvalidInput } from '../../fencing/model/errors.ts';
import { diskIn, machineIn } from '../../sandbox/azure/state.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { shown } from './demo-shown.ts';

/** The same stories in the sandbox of another cloud. */

describe('cloudfence demo --cloud azure', () => {
  const playable = scenarios.map(({ name }) => name).filter((name) => name !== 'node-gone');

  it('rejects a scenario that shows nothing on Azure, and names it', async () => {
    const refused = shown({ cloud: 'azure', scenario: 'node-gone' });
    await expect(refused).rejects.toThrow(InvalidInput);
    await expect(refused).rejects.toThrow('the scenario "node-gone" shows nothing on azure');
  });

  it.each(playable)('ends as expected within the width of a terminal: %s', async (scenario) => {
    const { code, lines } = await shown({ cloud: 'azure', scenario, seed: '7' });
    expect([code, lines.filter((line) => line.length > 100)]).toEqual([0, []]);
    expect(lines.join('\n')).not.toContain('EC2');
  });

  it('prints the same for the same seed over real sockets', async () => {
    const again = () => shown({ cloud: 'azure', scenario: 'return', seed: '5', json: true });
    const [one, other] = [await again(), await again()];
    expect(other.lines).toEqual(one.lines);
  });

  it('fails when Cloudfence may not patch Nodes', async () => {
    const { code, lines } = await shown({ cloud: 'azure', withoutMark: true });
    expect(code).toBe(1);
    expect(lines.join('\n')).toMatch(/WRONG {2}node-fenced/);
  });

  it('moves the disk with Cloudfence and leaves it in place without', async () => {
    const { lanes, story, requests } = await playScenario(
      demoCloud,
      { scenario: scenarioNamed('stopped'), seed: 1, mayMark: true },
      () => undefined,
    );
    expect(diskIn(lanes.fenced.world, story.volume)?.attachments).toMatchObject([{ machine: story.spare }]);
    expect(diskIn(lanes.alone.world, story.volume)?.attachments).toMatchObject([{ machine: story.holder }]);
    expect(machineIn(lanes.fenced.world, story.holder)?.power).toBe('deallocated');
    expect(
      getObject(lanes.fenced.world, 'nodes', story.node)?.metadata.annotations?.['cloudfence.dev/fence'],
    ).toContain('"cloud":"azure"');
    expect(requests.cloud).toMatchObject({ 'machine.get': expect.any(Number), 'disk.get': expect.any(Number) });
  });
});
