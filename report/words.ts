import type { Incident } from '../incidents/incident.ts';
import type { NotSeen, OwnFence, ShadowSummary } from './figures.ts';
import { dateTime, duration } from './format.ts';
import { kubernetesAlone } from './kubernetes-alone.ts';
import { between, epochMs } from './timeline.ts';

/** What an incident is called, and what happened in it, in sentences. Each value in them is plain text. */

export type Tone = 'good' | 'bad' | 'warn' | 'blue' | 'calm';

interface StateWords {
  readonly chip: string;
  readonly tone: Tone;
}

export const stateWords: Readonly<Record<Incident['state'], StateWords>> = {
  refused: { chip: 'refused', tone: 'warn' },
  failed: { chip: 'failed', tone: 'bad' },
  'would-fence': { chip: 'would fence', tone: 'blue' },
  fencing: { chip: 'fencing', tone: 'blue' },
  fenced: { chip: 'fenced', tone: 'good' },
  returning: { chip: 'returning', tone: 'blue' },
  released: { chip: 'released', tone: 'good' },
  'ended-by-hand': { chip: 'ended by hand', tone: 'warn' },
};

/** Returns the name under which people know the machine. */
export const subjectOf = ({ node, machine }: Incident): string => node ?? machine;

const askers: Readonly<Record<Incident['triggers'][number]['kind'], string>> = {
  event: 'an event arrived',
  sweep: 'a sweep found it',
  person: 'a person asked',
};

const noticed = (incident: Incident): readonly string[] => {
  const { phases, triggers } = incident;
  const off = phases.off === null ? [] : [`The machine went off at ${dateTime(epochMs(phases.off))} UTC.`];
  if (phases.received === null) return off;
  const first = triggers.find(({ received }) => received === phases.received);
  const why = first ? `, because ${askers[first.kind]}` : '';
  const later = between(incident, 'off', 'received');
  const when =
    later === null || later < 0 ? `at ${dateTime(epochMs(phases.received))} UTC` : `${duration(later)} later`;
  return [...off, `Cloudfence looked at it ${when}${why}.`];
};

const lastReason = ({ ends }: Incident): string => {
  const last = ends.at(-1);
  return last ? `${last.because.says} (${last.because.code})` : 'no reason is recorded';
};

const freed = (incident: Incident): string => {
  const took = between(incident, 'received', 'fenced');
  return took === null || took < 0
    ? 'Everything that the machine held is free.'
    : `Everything that the machine held was free ${duration(took)} after that.`;
};

/** A time that may not be known. */
const at = (time: string | null): string => (time === null ? '' : ` at ${dateTime(epochMs(time))} UTC`);

const ended = (incident: Incident): readonly string[] => {
  const { state, phases } = incident;
  switch (state) {
    case 'refused':
      return [`It did not fence the machine: ${lastReason(incident)}.`];
    case 'failed':
      return [`It could not fence the machine: ${lastReason(incident)}.`];
    case 'would-fence':
      return [`It changed nothing, because of shadow mode. The run said: ${lastReason(incident)}.`];
    case 'fencing':
      return [`The fence is not finished: ${lastReason(incident)}.`];
    case 'fenced':
      return [freed(incident), 'The Node is still quarantined, until a fresh boot is proven.'];
    case 'returning':
      return [
        `The machine is no longer proven off, so the taint went${at(phases.lifted)}. The Node is not released yet.`,
      ];
    case 'released':
      return [...(phases.fenced === null ? [] : [freed(incident)]), `The Node was released${at(phases.released)}.`];
    case 'ended-by-hand':
      return ['Somebody removed the fence by hand, so Cloudfence stopped.'];
  }
};

/** Returns what happened, in a few sentences. */
export const storyOf = (incident: Incident): string => [...noticed(incident), ...ended(incident)].join(' ');

/** Returns the facts about the machine that are known, each with its name. */
export const factsOf = (incident: Incident): readonly (readonly [string, string])[] => {
  const { machine, cloud, account, region, zone, cluster, node, generation, bootID, fence, id, vouched } = incident;
  const known: readonly (readonly [string, string | null])[] = [
    ['Machine', machine],
    ['Node', node],
    ['Cluster', cluster],
    ['Cloud', cloud],
    ['Account', account],
    ['Region', region],
    ['Zone', zone],
    ['Boot, as the cloud names it', generation],
    ['Boot, as the Node names it', bootID],
    [fence === null ? 'Incident' : 'Fence', id],
    ['Vouched for by a person', vouched],
  ];
  return known.flatMap(([what, value]) => (value === null || value === '' ? [] : [[what, value] as const]));
};

const unseenWords: Readonly<Record<NotSeen, string>> = {
  watching: 'not seen to end so far',
  'time-up': 'not seen to end within a day, and nobody watches any longer',
  fenced: 'Cloudfence fenced the Node itself before an end was seen, because shadow mode was switched off',
};

const ownFenceStory = ({ cloud, took, watched }: OwnFence): string => {
  const { cloudfence, source, measured } = kubernetesAlone;
  if (watched > 0)
    return `On ${cloud}, it counts against ${duration(took)}: half of the ${count(watched, 'fence')} that sweeps have watched here took no longer until everything ran elsewhere.`;
  return `On ${cloud}, it counts against ${duration(took)} of a test bench (${cloudfence.row}, ${source}, measured on ${measured}), because no fence of Cloudfence was watched here so far. A disk of a real cloud may take longer.`;
};

/** Returns what shadow mode shows of the time without Cloudfence, in sentences. A time that nobody observed is none. */
export const shadowStory = ({ managed, notSeen, saved, against }: ShadowSummary): readonly string[] => {
  const total = managed.reduce((sum, { took }) => sum + took, 0);
  const back = managed.filter(({ by }) => by === 'returned').length;
  const seen = [
    `It took ${duration(total)} in all until Kubernetes managed by itself, observed in ${count(managed.length, 'incident')}: from the machine off until what it held ran elsewhere, or until the Node came back.`,
    ...(back === 0 ? [] : [`In ${back} of them, the Node came back first.`]),
    `Cloudfence would have saved ${duration(saved)} of that. This counts from its first look, because before it Cloudfence could have done nothing.`,
    ...against.map(ownFenceStory),
  ];
  const unseen = [...notSeen].map(
    ([why, many]) => `In ${count(many, 'incident')}: ${unseenWords[why]}. No time is counted.`,
  );
  return [...(managed.length === 0 ? ['How long Kubernetes took by itself was not observed.'] : seen), ...unseen];
};

/** Returns `1 pod` or `3 pods`. */
export const count = (many: number, one: string, others = `${one}s`): string => `${many} ${many === 1 ? one : others}`;
