import { powerInWords } from '../fencing/model/machine.ts';
import type { Incident } from '../incidents/incident.ts';
import { shadowSummaryOf, type PhaseDuration, phaseDurations, kubernetesAlone } from './figures.ts';
import {
  NOTHING_HAPPENED,
  clockTime,
  dateMinute,
  dateTime,
  duration,
  count,
  factsOf,
  shadowStory,
  stateWords,
  describeIncident,
  subjectOf,
} from './words.ts';
import { plain } from './markup.ts';
import type { Report } from './select.ts';
import { beganAt, between, epochMs, isProvenOff, timelineOf, tookOf } from './timeline.ts';

/** The report as Markdown, for a ticket, a chat, or a terminal. */

const MOST_STEPS = 100;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const shown = (ms: number | null): string => (ms === null ? '–' : duration(ms));

const damagedPart = ({ damaged }: Report): readonly string[] =>
  damaged.length === 0
    ? []
    : [
        `**Not in this report:** ${count(damaged.length, 'object')} that cannot be read.`,
        damaged
          .map(({ name, what, remedy }) => `- ${plain(name)}: ${plain(what)}. To mend it, ${plain(remedy)}.`)
          .join('\n'),
      ];

const listPart = (incidents: readonly Incident[]): string =>
  table(
    ['began (UTC)', 'Node', 'cluster', 'state', 'first look → free'],
    incidents.map((one) => [
      dateMinute(beganAt(one)),
      plain(subjectOf(one)),
      plain(one.cluster ?? '–'),
      `${stateWords[one.state].chip}${one.shadow ? ' (shadow)' : ''}`,
      shown(between(one, 'received', 'fenced')),
    ]),
  );

const durationRow = ({ label, known, of, p50, p90, p99, longest }: PhaseDuration): readonly string[] => [
  label,
  `${known} of ${of}`,
  ...[p50, p90, p99, longest].map(shown),
];

const durationPart = (incidents: readonly Incident[]): readonly string[] => {
  const { phases, wholes } = phaseDurations(incidents);
  const all = [...wholes, ...phases];
  if (all.every(({ known }) => known === 0)) return [];
  return [
    '## How long each phase took',
    table(['from → to', 'known in', 'half within', '90 %', '99 %', 'longest'], all.map(durationRow)),
  ];
};

const shadowPart = ({ incidents, read }: Report): readonly string[] => {
  const summary = shadowSummaryOf(incidents, read);
  const { wouldFence, refusals, steps } = summary;
  const lines = [
    `- Cloudfence would have fenced in ${count(wouldFence, 'incident')}.`,
    ...[...steps].map(([step, many]) => `- It would have taken the step ${plain(step)} ${count(many, 'time')}.`),
    ...shadowStory(summary).map((sentence) => `- ${plain(sentence)}`),
  ];
  const refused = table(
    ['refused because', 'incidents', 'such as'],
    refusals.map(({ code, count, says }) => [plain(code), String(count), plain(says)]),
  );
  return ['## Shadow mode', lines.join('\n'), ...(refusals.length === 0 ? [] : [refused])];
};

const aloneLine = (): string => {
  const others = kubernetesAlone.remedies.flatMap(({ row, attachedElsewhere }) =>
    attachedElsewhere === null ? [] : [`${row}: ${attachedElsewhere} s`],
  );
  const { watched, source, kubernetes, measured } = kubernetesAlone;
  return [
    `Without Cloudfence, the volume was attached elsewhere after more than ${watched} s if nobody acted,`,
    `and with a remedy by hand: ${others.join('; ')}`,
    `(${source}, Kubernetes ${kubernetes}, measured on ${measured}).`,
  ].join(' ');
};

const phasePart = (incident: Incident): string => {
  const { start, recovery, after } = timelineOf(incident);
  return table(
    ['phase', 'reached (UTC)', 'after', 'took'],
    [...recovery, ...after].map((phase) =>
      phase.at === null
        ? [phase.label, `${phase.missing?.says}: ${phase.missing?.why}`, '', '']
        : [phase.label, clockTime(phase.at), duration(phase.at - start), shown(tookOf(phase))],
    ),
  );
};

const stepsPart = ({ steps }: Incident): readonly string[] => {
  if (steps.length === 0) return [];
  const rows = steps
    .slice(0, MOST_STEPS)
    .map(({ step, target, because, started, result }) => [
      clockTime(epochMs(started)),
      plain(step),
      plain(target),
      result,
      plain(`${because.says} (${because.code})`),
    ]);
  const more = steps.length - rows.length;
  return [
    '#### Steps',
    table(['began (UTC)', 'step', 'object', 'result', 'because'], rows),
    ...(more > 0 ? [`${more} more steps are in the report as JSON.`] : []),
  ];
};

const proofsPart = ({ proofs }: Incident): readonly string[] =>
  proofs.length === 0
    ? []
    : [
        '#### Proofs',
        table(
          ['answered (UTC)', 'power', 'request', 'evidence'],
          proofs.slice(0, MOST_STEPS).map(({ answered, power, requestId, evidence }) => [
            dateTime(epochMs(answered)),
            plain(powerInWords(power)),
            plain(requestId ?? '–'),
            Object.entries(evidence)
              .map(([what, value]) => plain(`${what}: ${value}`))
              .join('<br>'),
          ]),
        ),
      ];

const incidentPart = (incident: Incident): readonly string[] => [
  `### ${plain(subjectOf(incident))}: ${stateWords[incident.state].chip}`,
  plain(describeIncident(incident)),
  factsOf(incident)
    .map(([what, value]) => `- ${what}: ${plain(value)}`)
    .join('\n'),
  phasePart(incident),
  ...(isProvenOff(timelineOf(incident)) ? [aloneLine()] : []),
  ...stepsPart(incident),
  ...proofsPart(incident),
];

const scope = ({ wanted: { since, target }, where, made, incidents }: Report): string => {
  const of = target === null ? '' : ` of ${plain(target)}`;
  const from = since === null ? '' : ` since ${dateMinute(since)} UTC`;
  return `${count(incidents.length, 'incident')}${of}${from}, from ${plain(where)}. Made on ${dateMinute(made)} UTC.`;
};

const EMPTY = `${NOTHING_HAPPENED} \`cloudfence doctor\` says whether a fence would work.`;

/** Returns the report as Markdown. Pure. */
export const reportMarkdown = (report: Report): string => {
  const { incidents, wanted } = report;
  const parts = [
    wanted.shadow ? '# What Cloudfence would have done' : '# Incidents',
    scope(report),
    ...damagedPart(report),
    ...(incidents.length === 0 ? [EMPTY] : []),
    ...(wanted.shadow && incidents.length > 0 ? shadowPart(report) : []),
    ...(incidents.length > 1 ? [listPart(incidents), ...durationPart(incidents)] : []),
    ...(incidents.length > 0 ? ['## One by one'] : []),
    ...incidents.flatMap(incidentPart),
  ];
  return `${parts.join('\n\n')}\n`;
};
