import { onOneLine, shorten } from '../fencing/model/reason.ts';
import { type End, type Incident, objectNameOf, type Phases } from './incident.ts';

/** The messages about an incident for people and their tools: one for each fence, refusal, and release. */

export interface Announcement {
  readonly kind: 'cloudfence/announcement';
  readonly version: 1;
  /** The same in all messages about the same end of an incident. */
  readonly id: string;
  readonly about: 'fence' | 'refusal' | 'release' | 'failure' | 'would-fence';
  readonly incident: string;
  /** The name of the object that contains the whole incident. */
  readonly object: string;
  readonly cloud: string;
  readonly cluster: string | null;
  readonly node: string | null;
  readonly machine: string;
  readonly zone: string | null;
  readonly reason: End['because'];
  readonly at: string;
  readonly phases: Phases;
  /** Texts that are ready to use: a title for pagers, and a few lines for a chat. */
  readonly texts: { readonly page: string; readonly chat: string };
  readonly severity: 'info' | 'warning' | 'error';
}

type About = Announcement['about'];

/** The kind of message for each end. Null for an end that needs no message. */
const abouts: Readonly<Record<End['outcome'], About | null>> = {
  fenced: 'fence',
  released: 'release',
  refused: 'refusal',
  failed: 'failure',
  'would-fence': 'would-fence',
  'would-release': null,
  waiting: null,
  ignored: null,
};

const severities: Readonly<Record<About, Announcement['severity']>> = {
  fence: 'warning',
  release: 'info',
  refusal: 'warning',
  failure: 'error',
  'would-fence': 'info',
};

/** Refusals of a release that a person requested. The Node stays fenced. */
const RELEASE_REFUSALS: readonly string[] = ['still-off', 'return-unproven', 'another-fence'];

const verbOf = (about: About, { fence }: Incident, { because: { code } }: End): string => {
  switch (about) {
    case 'fence':
      return 'fenced';
    case 'release':
      return 'released';
    case 'refusal':
      if (fence === null) return 'did not fence';
      return RELEASE_REFUSALS.includes(code) ? 'did not release' : 'did not continue the fence of';
    case 'failure':
      return fence === null ? 'could not fence' : 'could not finish the fence of';
    case 'would-fence':
      return 'would have fenced';
  }
};

const secondsBetween = (from: string | null, to: string | null): string | null =>
  from === null || to === null || to < from ? null : `${((Date.parse(to) - Date.parse(from)) / 1_000).toFixed(1)} s`;

/** The longest title that pagers show in full. */
const LONGEST_TITLE = 120;
const LONGEST_SENTENCE = 1_000;

const nameOf = ({ cluster, node, machine }: Incident): string =>
  `${node === null ? machine : `Node ${node}`}${cluster === null ? '' : ` in ${cluster}`}`;

const durationIn = ({ phases }: Incident): readonly string[] => {
  const took = secondsBetween(phases.proven, phases.fenced);
  return took === null ? [] : [`From the proof to the end of the fence: ${took}.`];
};

const MOST_PODS = 5;

/** The pods that Cloudfence deleted. A person recognizes their own workload by them. */
const podsIn = ({ steps }: Incident): readonly string[] => {
  const deleted = steps.filter(({ step, result }) => step === 'delete-pod' && result === 'done');
  const names = deleted.slice(0, MOST_PODS).map(({ target }) => target.replace(/^pod\//, ''));
  const others = deleted.length > MOST_PODS ? `, and ${deleted.length - MOST_PODS} more` : '';
  return names.length === 0 ? [] : [`Deleted pods: ${names.join(', ')}${others}.`];
};

/**
 * Characters that would have an effect in a chat, and their replacements. Slack and Teams have no common escape for
 * `*`, so similar characters replace it. An underscore between letters is plain text, and occurs in names of resource
 * groups.
 */
const MARKUP: readonly (readonly [RegExp, string])[] = [
  [/&/g, '&amp;'],
  [/</g, '&lt;'],
  [/>/g, '&gt;'],
  [/\*/g, '∗'],
  [/~/g, '∼'],
  [/`/g, "'"],
  [/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '＿'],
  [/\](?=[([])/g, '] '],
  [/:\/\//g, '[:]//'],
  [/\b(mailto|www)(?=[:.])/gi, '$1 '],
  [/@(?=channel|here|everyone)/gi, '@ '],
];

/**
 * Removes markup. Otherwise, `<!channel>` in foreign text would notify everyone in a chat, and foreign text could
 * contain links.
 */
const escaped = (text: string): string =>
  MARKUP.reduce((safe, [what, instead]) => safe.replaceAll(what, instead), onOneLine(text));

const textsOf = (about: About, incident: Incident, end: End): Announcement['texts'] => {
  const { machine, zone, id } = incident;
  const { because } = end;
  const title = `Cloudfence ${verbOf(about, incident, end)} ${nameOf(incident)}`;
  const chat = [
    `*${escaped(title)}*`,
    `${escaped(shorten(because.says, LONGEST_SENTENCE))} (${because.code}).`,
    ...(about === 'fence' ? [...podsIn(incident).map(escaped), ...durationIn(incident)] : []),
    escaped(`Machine ${machine}${zone === null ? '' : ` in ${zone}`}. Details: cloudfence report ${id}`),
  ];
  return { page: shorten(onOneLine(title), LONGEST_TITLE), chat: chat.join('\n') };
};

const announcementOf = (about: About, incident: Incident, end: End): Announcement => {
  const { id, cloud, cluster, node, machine, zone, phases } = incident;
  return {
    kind: 'cloudfence/announcement',
    version: 1,
    id: `${id} ${end.outcome} ${end.because.code}`,
    about,
    incident: id,
    object: objectNameOf(incident),
    cloud,
    cluster,
    node,
    machine,
    zone,
    reason: end.because,
    at: end.at,
    phases,
    texts: textsOf(about, incident, end),
    severity: severities[about],
  };
};

const endName = ({ outcome, because: { code } }: End): string => `${outcome} ${code}`;

/** Returns the messages for the ends that are in `after` but not in `before`. Pure. */
export const announcementsOf = (before: Incident | null, after: Incident): readonly Announcement[] => {
  const announced = new Set((before?.ends ?? []).map(endName));
  return after.ends
    .filter((end) => !announced.has(endName(end)))
    .flatMap((end) => {
      const about = abouts[end.outcome];
      return about === null ? [] : announcementOf(about, after, end);
    });
};
