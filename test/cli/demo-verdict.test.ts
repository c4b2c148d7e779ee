import { describe, expect, it } from 'vitest';
import { scenarioNamed } from '../../demo/scenarios.ts';
import { checkFindings } from '../../demo/play.ts';
import { addTaint, dropTaint, outOfService } from '../../sandbox/cluster/controllers/taints.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { attach, detach, settleAttachment } from '../../sandbox/ec2/attachments.ts';
import { defaultStop, stopByUser } from '../../sandbox/ec2/instances.ts';
import { played } from './demo-stage.ts';

type Played = Awaited<ReturnType<typeof played>>;

/** What the verdict finds after someone has changed the end of a good run. */
const foundAfter = async (scenario: string, tamper: (end: Played) => void): Promise<readonly string[]> => {
  const end = await played(scenario);
  const before = checkFindings(end.lanes.fenced.world, end.story, scenarioNamed(scenario));
  tamper(end);
  const { right, findings } = checkFindings(end.lanes.fenced.world, end.story, scenarioNamed(scenario));
  expect([before.right, right]).toEqual([true, false]);
  return findings.filter(({ wrong }) => wrong !== null).map(({ finding }) => finding);
};

/** The out-of-service taint as Cloudfence writes it, for a fence and its boot. */
const OURS = { key: outOfService, value: 'run.1_in_0123456789abcd', effect: 'NoSchedule' } as const;

const nodeObject = ({ lanes, story }: Played) => {
  const node = lanes.fenced.world.parts.cluster.objects.nodes[`/${story.node}`];
  if (!node) throw new Error(`there is no Node ${story.node}`);
  return node;
};

const moveDisk = ({ lanes: { fenced }, story }: Played, from: string, to: string): void => {
  const [source, target] = [instanceIn(fenced.world, from), instanceIn(fenced.world, to)];
  const held = volumeIn(fenced.world, story.volume);
  if (!held || !source || !target) throw new Error('nothing to move');
  detach(fenced.world, held, source, true);
  settleAttachment(fenced.world, story.volume, from);
  const free = volumeIn(fenced.world, story.volume);
  if (free) attach(fenced.world, free, target, '/dev/xvdz');
  settleAttachment(fenced.world, story.volume, to);
};

describe('the verdict of the demo', () => {
  it('finds a disk that was taken from a machine that writes, and its new machine', async () => {
    const found = await foundAfter('partition', (end) => moveDisk(end, end.story.holder, end.story.spare));
    expect(found).toEqual(['data-unharmed', 'disk-stayed']);
  });

  it('finds a taint on the Node of a machine that runs', async () => {
    const tamper = (end: Played): void => addTaint(nodeObject(end), OURS);
    expect(await foundAfter('partition', tamper)).toEqual(['nothing-left']);
  });

  it('finds a machine that was powered off although the policy forbids it', async () => {
    const tamper = ({ lanes: { fenced }, story }: Played): void => {
      const instance = instanceIn(fenced.world, story.holder);
      if (instance) stopByUser(fenced.world, instance, defaultStop);
    };
    expect(await foundAfter('partition', tamper)).toEqual(['machine-runs']);
  });

  it('finds a refusal that was not reported', async () => {
    const tamper = ({ lanes: { fenced } }: Played): void => {
      const { events } = fenced.world.parts.cluster.objects;
      for (const key of Object.keys(events)) delete events[key];
    };
    expect(await foundAfter('partition', tamper)).toEqual(['refusal-said']);
  });

  it('finds a parked Node without its quarantine, and one with other taints', async () => {
    expect(await foundAfter('stopped', (end) => dropTaint(nodeObject(end), 'cloudfence.dev/quarantine'))).toEqual([
      'node-fenced',
    ]);
    expect(await foundAfter('stopped', (end) => addTaint(nodeObject(end), OURS))).toEqual(['node-fenced']);
  });

  it('finds a database that does not run', async () => {
    const tamper = ({ lanes: { fenced } }: Played): void =>
      void delete fenced.world.parts.cluster.objects.pods['default/db-0'];
    expect(await foundAfter('terminated', tamper)).toEqual(['database-runs']);
  });

  it('finds a Node that is not back in service, and what is left on it', async () => {
    const tamper = (end: Played): void =>
      addTaint(nodeObject(end), { key: 'cloudfence.dev/quarantine', effect: 'NoSchedule' });
    expect(await foundAfter('return', tamper)).toEqual(['node-returned', 'nothing-left']);
  });
});
