import type { Incident } from '../incidents/incident.ts';
import { type UnobservedReason, type FenceDuration, type ShadowSummary, kubernetesAlone } from './figures.ts';
import { between, epochMs } from './timeline.ts';

/**
 * The texts about an incident: its title, and what happened in it. All values in them are plain text. Times and
 * durations are formatted for people, and all times are in UTC.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const two = (count: number): string => String(count).padStart(2, '0');

const inParts = (ms: number, large: number, small: number, [one, other]: readonly [string, string]): string => {
  const rounded = Math.round(ms / small) * small;
  return `${Math.floor(rounded / large)} ${one} ${two(Math.round((rounded % large) / small))} ${other}`;
};

/** Formats a duration (ms) with the relevant digits, such as `0.13 s`, `25.5 s`, or `5 min 56 s`. */
export const duration = (ms: number): string => {
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return '0 s';
  if (ms < 9_995) return `${(ms / SECOND).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < HOUR - SECOND / 2) return inParts(ms, MINUTE, SECOND, ['min', 's']);
  if (ms < DAY - MINUTE / 2) return inParts(ms, HOUR, MINUTE, ['h', 'min']);
  return inParts(ms, DAY, HOUR, ['d', 'h']);
};

/** Formats a mark of an axis, such as `0`, `0.5 s`, `2 min`, or `3 h`. */
export const tickText = (ms: number): string => {
  if (ms === 0) return '0';
  if (ms < MINUTE) return `${Number((ms / SECOND).toFixed(2))} s`;
  if (ms < HOUR) return `${Number((ms / MINUTE).toFixed(2))} min`;
  return ms < DAY ? `${Number((ms / HOUR).toFixed(2))} h` : `${Number((ms / DAY).toFixed(2))} d`;
};

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Such as `2026-01-01 00:00:35.780`. */
export const dateTime = (ms: number): string => isoOf(ms).replace('T', ' ').replace('Z', '');

/** Formats a time to the minute, such as `2026-01-01 00:00`. */
export const dateMinute = (ms: number): string => dateTime(ms).slice(0, 16);

/** Such as `00:00:35.780`. */
export const clockTime = (ms: number): string => isoOf(ms).slice(11, 23);

export const machineTime = (ms: number): string => isoOf(ms);

const STEPS = [1, 2, 5, 10, 15, 20, 30].map((count) => count * SECOND);
const LARGE = [1, 2, 5, 10, 15, 20, 30].map((count) => count * MINUTE);
const HUGE = [1, 2, 3, 6, 12].map((count) => count * HOUR);

/** Returns marks for an axis of that length: round numbers, at most `most` of them. */
export const ticks = (span: number, most: number): readonly number[] => {
  const fine = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].map((count) => count * SECOND);
  const step = [...fine, ...STEPS, ...LARGE, ...HUGE].find((one) => span / one <= most);
  const apart = step ?? Math.ceil(span / most / DAY) * DAY;
  return Array.from({ length: Math.floor(span / apart) + 1 }, (_, index) => index * apart);
};

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

/** Returns the name that people use for the machine. */
export const subjectOf = ({ node, machine }: Incident): string => node ?? machine;

const triggerWords: Readonly<Record<Incident['triggers'][number]['kind'], string>> = {
  event: 'an event arrived',
  sweep: 'a sweep found it',
  person: 'a person asked',
};

const noticed = (incident: Incident): readonly string[] => {
  const { phases, triggers } = incident;
  const off = phases.off === null ? [] : [`The machine went off at ${dateTime(epochMs(phases.off))} UTC.`];
  if (phases.received === null) return off;
  const first = triggers.find(({ received }) => received === phases.received);
  const why = first ? `, because ${triggerWords[first.kind]}` : '';
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

/** Formats a time that may not be known. */
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

/** Describes in a few sentences what happened. */
export const describeIncident = (incident: Incident): string => [...noticed(incident), ...ended(incident)].join(' ');

/** Returns the known facts about the machine, each with its name. */
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

const unseenWords: Readonly<Record<UnobservedReason, string>> = {
  watching: 'not seen to end so far',
  'time-up': 'not seen to end within a day, and no longer watched',
  fenced: 'Cloudfence fenced the Node itself before an end was seen, because shadow mode was switched off',
};

const ownFenceStory = ({ cloud, took, watched }: FenceDuration): string => {
  const { cloudfence, source, measured } = kubernetesAlone;
  if (watched > 0)
    return (
      `On ${cloud}, it counts against ${duration(took)}: half of the ${count(watched, 'fence')} that sweeps have ` +
      'watched here took no longer until everything ran elsewhere.'
    );
  return (
    `On ${cloud}, it counts against ${duration(took)} of a test bench (${cloudfence.row}, ${source}, measured on ` +
    `${measured}), because no fence of Cloudfence was watched here so far. A disk of a real cloud may take ` +
    'longer.'
  );
};

/** What a report without incidents says. */
export const NOTHING_HAPPENED = 'Nothing was fenced, refused, or seen in shadow mode in this time.';

/** Describes the observed times without Cloudfence, in sentences. A time that nobody observed is left out. */
export const shadowStory = ({ managed, notSeen, saved, against }: ShadowSummary): readonly string[] => {
  const total = managed.reduce((sum, { took }) => sum + took, 0);
  const back = managed.filter(({ by }) => by === 'returned').length;
  const seen = [
    `It took ${duration(total)} in all until Kubernetes managed by itself, observed in ` +
      `${count(managed.length, 'incident')}: from the machine off until what it held ran elsewhere, or until the ` +
      'Node came back.',
    ...(back === 0 ? [] : [`In ${back} of them, the Node came back first.`]),
    `Cloudfence would have saved ${duration(saved)} of that. This counts from its first look, because before ` +
      'it Cloudfence could have done nothing.',
    ...against.map(ownFenceStory),
  ];
  const unseen = [...notSeen].map(
    ([why, many]) => `In ${count(many, 'incident')}: ${unseenWords[why]}. No time is counted.`,
  );
  return [...(managed.length === 0 ? ['How long Kubernetes took by itself was not observed.'] : seen), ...unseen];
};

/** Returns `1 pod` or `3 pods`. */
export const count = (many: number, one: string, others = `${one}s`): string => `${many} ${many === 1 ? one : others}`;
