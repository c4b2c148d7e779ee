import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { idWithoutFence, type Incident, objectNameOf, parseIncident } from '../../incidents/incident.ts';
import { announcementsOf } from '../../incidents/announcement.ts';
import { joined } from '../../incidents/join.ts';
import { nodeGone, startMachine, stopped } from '../simulation/incidents.ts';
import { eventTrigger, record, sweepTrigger } from './recorded.ts';

const wentOff = eventTrigger(
  '7bf73129-1428-4cd3-a780-95db273d1602',
  'state-change-stopped',
  '2026-01-01T00:00:20.000Z',
);
const cameBack = eventTrigger(
  '0d079340-135a-c8c6-95c2-41fb8f496c53',
  'state-change-running',
  '2026-01-01T00:02:00.000Z',
);
const RUN = '5f0c3a5e-7d1b-4c57-9f2e-0a6b8f7d1c21';
const FENCE = `${RUN}.1`;

const text = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** An incident without what depends on how many calls a run makes: times, and the reads between the steps. */
const plotOf = ({ proofs: _proofs, phases, triggers, steps, ends, release, begun: _begun, ...rest }: Incident) => ({
  ...rest,
  phases: Object.entries(phases)
    .filter(([, at]) => at !== null)
    .map(([phase]) => phase),
  triggers: triggers.map(({ received: _received, ...trigger }) => trigger),
  steps: steps.map(({ step, target, because, result, message }) => ({ step, target, because, result, message })),
  ends: ends.map(({ outcome, because, run }) => ({ outcome, because, run })),
  release: release && { because: release.because, bootID: release.bootID },
});

/** Compares with an example. An example that was deleted is written again. */
const isLikeExample = async (incident: Incident | null, name: string): Promise<void> => {
  const file = new URL(`examples/${name}.json`, import.meta.url);
  if (!existsSync(file)) await writeFile(file, text(incident));
  const example = parseIncident(await readFile(file, 'utf8'));
  expect(incident && plotOf(incident)).toEqual(example && plotOf(example));
};

const fenced = async () => {
  const scene = stopped();
  return { scene, ...(await record(scene, wentOff, null, { runId: RUN })) };
};

describe('an incident', () => {
  it('describes a fence from the event to the end, with every proof and every step', async () => {
    const { incident, scene } = await fenced();
    await isLikeExample(incident, 'fence');
    expect(incident).toMatchObject({
      id: FENCE,
      state: 'fenced',
      machine: scene.scene.holder,
      triggers: [{ event: wentOff.trigger.event }],
    });
    expect(incident?.steps.every(({ proof }) => incident.proofs.some(({ asked }) => asked === proof))).toBe(true);
    expect(parseIncident(text(incident))).toEqual(incident);
  });

  it('is completed by the release, which the run of another event makes', async () => {
    const { incident, scene } = await fenced();
    startMachine(scene.world, scene.scene.holder);
    scene.world.advance(90_000);
    const after = await record(scene, cameBack, incident, { runId: 'another-run' });
    await isLikeExample(after.incident, 'fence-and-release');
    expect(after.shown?.id).toBe(FENCE);
    expect(after.incident).toMatchObject({ id: FENCE, state: 'released', release: { because: { code: 'settled' } } });
  });

  it('describes a refusal with an id that every run about this boot finds again', async () => {
    const scene = stopped();
    const policy = { paused: 'network maintenance' };
    const { incident } = await record(scene, wentOff, null, { policy });
    await isLikeExample(incident, 'refusal');
    const again = await record(scene, sweepTrigger, incident, { policy });
    expect(again.incident).toBe(incident);
    expect(incident).toMatchObject({ fence: null, state: 'refused', ends: [{ because: { code: 'paused' } }] });
  });

  it('describes a fence whose Node was gone before, with an id made from the boot', async () => {
    const scene = nodeGone();
    const { incident, outcome } = await record(scene, wentOff);
    expect(outcome).toMatchObject({ outcome: 'fenced', record: null });
    expect(incident).toMatchObject({ fence: null, state: 'fenced', ends: [{ outcome: 'fenced' }] });
    expect(incident?.steps.map(({ step, result }) => [step, result])).toContainEqual(['delete-pod', 'done']);
    if (!incident) throw new Error('the fence left no incident');
    expect(announcementsOf(null, incident).map(({ about }) => about)).toEqual(['fence']);
    expect(joined(incident, incident)).toBe(incident);
  });

  it('of shadow mode says what would have been done', async () => {
    const { incident } = await record(stopped(), wentOff, null, { policy: { shadow: true } });
    await isLikeExample(incident, 'would-fence');
    expect(incident).toMatchObject({ fence: null, state: 'would-fence', shadow: true });
  });

  it('is not made from a dry run', async () => {
    expect(await record(stopped(), wentOff, null, { policy: { dryRun: true } })).toMatchObject({ incident: null });
  });
});

describe('several runs of one incident', () => {
  it('are joined in any order, and each of them once', async () => {
    const { shown: first, scene } = await fenced();
    startMachine(scene.world, scene.scene.holder);
    scene.world.advance(90_000);
    const { shown: second } = await record(scene, cameBack);
    if (!first || !second) throw new Error('both runs have something to show');
    const both = joined(first, second);
    expect({ ...joined(second, first), generation: both.generation }).toEqual(both);
    expect([joined(both, first), joined(both, second)]).toEqual([both, both]);
  });
});

describe('the title of a message', () => {
  const titlesOf = (incident: Incident | null) =>
    (incident ? announcementsOf(null, incident) : []).map(({ texts: { page } }) => page.replace(/ Node .*/, ''));

  it.each([
    ['still-off', 'did not release'],
    ['taint-removed-by-hand', 'did not continue the fence of'],
  ])('does not say that a fenced Node was not fenced: %s', async (code, verb) => {
    const { shown } = await fenced();
    if (!shown) throw new Error('a fence has something to show');
    const because = { code, says: 'a sentence' };
    const ends = shown.ends.map((end) => ({ ...end, outcome: 'refused' as const, because }));
    expect(titlesOf({ ...shown, ends })).toEqual([`Cloudfence ${verb}`]);
  });

  it('says whether a failed run left an unfinished fence', async () => {
    const { shown } = await fenced();
    if (!shown) throw new Error('a fence has something to show');
    const failed = { ...shown, ends: shown.ends.map((end) => ({ ...end, outcome: 'failed' as const })) };
    expect(titlesOf(failed)).toEqual(['Cloudfence could not finish the fence of']);
    expect(titlesOf({ ...failed, fence: null })).toEqual(['Cloudfence could not fence']);
  });
});

describe('the message for a chat', () => {
  it('names the deleted pods, how long the fence took, and the command for details', async () => {
    const { shown } = await fenced();
    const [message] = shown ? announcementsOf(null, shown) : [];
    expect(message?.texts.chat.split('\n').slice(2)).toEqual([
      'Deleted pods: default/db-0.',
      expect.stringMatching(/^From the proof to the end of the fence: \d+\.\d s\.$/),
      `Machine i-00000000000000001 in eu-west-1a. Details: cloudfence report ${shown?.id}`,
    ]);
  });

  const textOf = async (paused: string) => {
    const { incident } = await record(stopped(), wentOff, null, { policy: { paused } });
    const [message] = incident ? announcementsOf(null, incident) : [];
    return message?.texts.chat ?? '';
  };

  it('contains no line breaks and no markup from the words of others', async () => {
    const chat = await textOf('a & b\n<!channel>\u001B[2K');
    expect(chat.split('\n')).toHaveLength(3);
    expect(chat).toContain('a &amp; b &lt;!channel&gt; [2K');
  });

  it.each([
    ['bold and struck words', '*now* **now** ~old~', '∗now∗ ∗∗now∗∗ ∼old∼'],
    ['slanted words and code', '_now_ __now__ `rm`', "＿now＿ ＿＿now＿＿ 'rm'"],
    ['a link', 'https://evil.example/x', 'https[:]//evil.example/x'],
    ['a link with a title', '[the console](https://evil.example)', '[the console] (https[:]//evil.example)'],
    ['a link without a scheme', '[x](www.evil.example) mailto:a@b', '[x] (www .evil.example) mailto :a@b'],
    ['a call to everybody', '@channel @here @Everyone', '@ channel @ here @ Everyone'],
    ['a name as it is', 'MC_rg-aks_prod_westeurope gke_p_z_c', 'MC_rg-aks_prod_westeurope gke_p_z_c'],
  ])('shows %s as text, in Slack and in Teams', async (_, words, shown) => {
    expect((await textOf(words)).split('\n')[1]).toContain(shown);
  });

  it('has only its own markup: its title', async () => {
    expect((await textOf('a pause')).match(/\*/g)).toHaveLength(2);
  });
});

describe('the name of its object', () => {
  it('contains cluster, Node, and id, each as one part', () => {
    expect(objectNameOf({ cluster: 'eu/prod', node: 'node-1', id: 'f' })).toBe('incidents/eu%2Fprod/node-1/f.json');
    expect(objectNameOf({ cluster: null, node: null, id: 'f' })).toBe('incidents/-/-/f.json');
  });

  it('exists for every text, also for half of a character', () => {
    expect(objectNameOf({ cluster: 'prod\ud800', node: 'node', id: 'f' })).toBe('incidents/prod%EF%BF%BD/node/f.json');
  });

  it('differs for each boot', () => {
    const boot = { cluster: 'prod', machine: 'i-1', generation: 'first' };
    expect(idWithoutFence(boot)).not.toBe(idWithoutFence({ ...boot, generation: 'second' }));
  });
});
