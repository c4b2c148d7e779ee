import { describe, expect, it } from 'vitest';
import { demoCloud } from '../../demo/gcp-cloud.ts';
import { playScenario } from '../../demo/play.ts';
import { scenarioNamed, scenarios } from '../../demo/scenarios.ts';
import { diskIn, instanceIn } from '../../sandbox/gce/state.ts';
import { shown } from './demo-shown.ts';

/** The same stories in the sandbox of another cloud. */

describe('cloudfence demo --cloud gcp', () => {
  it.each(scenarios.map(({ name }) => name))(
    'ends as expected within the width of a terminal: %s',
    async (scenario) => {
      const { code, lines } = await shown({ cloud: 'gcp', scenario, seed: '7' });
      expect([code, lines.filter((line) => line.length > 100)]).toEqual([0, []]);
      expect(lines.join('\n')).not.toContain('EC2');
    },
  );

  it('prints the same for the same seed over real sockets', async () => {
    const again = () => shown({ cloud: 'gcp', scenario: 'return', seed: '5', json: true });
    const [one, other] = [await again(), await again()];
    expect(other.lines).toEqual(one.lines);
  });

  it('fails when Cloudfence may not patch Nodes', async () => {
    const { code, lines } = await shown({ cloud: 'gcp', withoutMark: true });
    expect(code).toBe(1);
    expect(lines.join('\n')).toMatch(/WRONG {2}node-fenced/);
  });

  it('moves the disk with Cloudfence and leaves it in place without', async () => {
    const { lanes, story } = await playScenario(
      demoCloud,
      { scenario: scenarioNamed('stopped'), seed: 1, mayMark: true },
      () => undefined,
    );
    expect(diskIn(lanes.fenced.world, story.volume)?.users).toEqual([story.spare]);
    expect(diskIn(lanes.alone.world, story.volume)?.users).toEqual([story.holder]);
    expect(instanceIn(lanes.fenced.world, story.holder)?.status).toBe('TERMINATED');
  });
});
