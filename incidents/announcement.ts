import { onOneLine, shorten } from '../fencing/model/reason.ts';
import { type End, type Incident, objectNameOf, type Phases } from './incident.ts';

/** The messages about an incident for people and their tools: one for each fence, refusal, and release. */

export interface Announcement {
  readonly kind: 'cloudfence/announcement';
  readonly version: 1;
  /** The same for each message about the same end of the same incident. */
  readonly id: string;
  readonly about: 'fence' | 'refusal' | 'release' | 'failure' | 'would-fence';
  readonly incident: string;
  /** The name of the object that tells the whole incident. */
  readonly object: string;
  readonly cloud: string;
  readonly cluster: string | null;
  readonly node: string | null;
  readonly machine: string;
  readonly zone: string | null;
  readonly reason: End['because'];
  readonly at: string;
  readonly phases: Phases;
  /** Ready texts: a title for pagers, and a few lines for a chat. */
  readonly texts: { readonly page: string; readonly chat: string };
  readonly severity: 'info' | 'warning' | 'error';
}

type About = Announcement['about'];

/** What each end is about. Null for an end that nobody needs to hear of. */
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

const verbs: Readonly<Record<About, string>> = {
  fence: 'fenced',
  release: 'released',
  refusal: 'did not fence',
  failure: 'could not finish the fence of',
  'would-fence': 'would have fenced',
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

/**
 * What others' words could do in a chat, and what it becomes. Slack and Teams share no escape for `*`, so characters that
 * look alike stand in. An underscore between letters is only text, and names of resource groups have such.
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

/** Without markup: `<!channel>` from others' words would call everybody in a chat, and a link could be anybody's. */
const escaped = (text: string): string =>
  MARKUP.reduce((safe, [what, instead]) => safe.replaceAll(what, instead), onOneLine(text));

const textsOf = (about: About, incident: Incident, { because }: End): Announcement['texts'] => {
  const { machine, zone, id } = incident;
  const title = `Cloudfence ${verbs[about]} ${nameOf(incident)}`;
  const chat = [
    `*${escaped(title)}*`,
    `${escaped(shorten(because.says, LONGEST_SENTENCE))} (${because.code}).`,
    ...(about === 'fence' ? durationIn(incident) : []),
    escaped(`Machine ${machine}${zone === null ? '' : ` in ${zone}`}. Incident ${id}.`),
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

/** Returns what is to be told about the ends that `after` has and `before` does not have. Pure. */
export const announcementsOf = (before: Incident | null, after: Incident): readonly Announcement[] => {
  const told = new Set((before?.ends ?? []).map(endName));
  return after.ends
    .filter((end) => !told.has(endName(end)))
    .flatMap((end) => {
      const about = abouts[end.outcome];
      return about === null ? [] : announcementOf(about, after, end);
    });
};
