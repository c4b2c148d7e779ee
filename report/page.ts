import { createHash } from 'node:crypto';
import type { Incident } from '../incidents/incident.ts';
import { chartPatterns } from './chart.ts';
import { dateMinute, count, subjectOf, duration, shadowStory, stateWords, NOTHING_HAPPENED } from './words.ts';
import { incidentSection, stateChips } from './incident-section.ts';
import { html, type Markup, name, ownText, styleElement, textOf, chartStyle, pageStyle } from './markup.ts';
import type { Report } from './select.ts';
import { beganAt, between } from './timeline.ts';
import {
  countsOf,
  type Refusal,
  shadowSummaryOf,
  type ShadowSummary,
  type PhaseDuration,
  phaseDurations,
} from './figures.ts';

/** The report as one page, which needs no network and runs no code. It begins with a summary of all incidents. */

/** More complete incidents would make the page slow. The list names all incidents. */
const MOST_WHOLE = 50;

const tile = (value: string, label: string): Markup => html`<li><b>${value}</b> <span>${label}</span></li>`;

const damagedPart = ({ damaged }: Report): Markup | null =>
  damaged.length === 0
    ? null
    : html`<section class="card notice" aria-labelledby="damaged">
        <h2 id="damaged">Not in this report: ${count(damaged.length, 'object')} that cannot be read</h2>
        <ul class="plain">
          ${damaged.map(
            ({ name: object, what, remedy }) =>
              html`<li><code>${name(object)}</code>: ${name(what)}. To mend it, ${remedy}.</li>`,
          )}
        </ul>
      </section>`;

const listRow = (incident: Incident, index: number): Markup => {
  const freed = between(incident, 'received', 'fenced');
  const title = name(subjectOf(incident));
  return html`<tr>
    <td class="time">${dateMinute(beganAt(incident))}</td>
    <th scope="row">
      ${index < MOST_WHOLE ? html`<a href="#incident-${index + 1}">${title}</a>` : title}
      <span class="why">${incident.cluster === null ? 'no cluster' : name(incident.cluster)}</span>
    </th>
    <td>${stateChips(incident)}</td>
    <td class="number wide-only">${freed === null || freed < 0 ? '–' : duration(freed)}</td>
  </tr>`;
};

const listPart = (incidents: readonly Incident[]): Markup =>
  html`<section aria-labelledby="list">
    <h2 id="list">Incidents</h2>
    <div class="card">
      <table class="list">
        <caption>
          The newest first. Times are UTC.
        </caption>
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col" class="number wide-only">First look → free</th>
          </tr>
        </thead>
        <tbody>
          ${incidents.map(listRow)}
        </tbody>
      </table>
    </div>
  </section>`;

const x = (ms: number, longest: number): number => Math.round((ms / longest) * 10_000) / 100;

/** Draws the median dark, the 90th percentile light, and a line up to the longest time of all phases. */
const durationBar = ({ p50, p90 }: PhaseDuration, longest: number): Markup =>
  html`<svg class="spread" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
    <line class="rail" x1="0" x2="100" y1="7" y2="7" />
    <rect class="most" width="${x(p90 ?? 0, longest)}" y="2" height="10" />
    <rect class="half" width="${x(p50 ?? 0, longest)}" y="2" height="10" />
  </svg>`;

const cell = (ms: number | null, kind = ''): Markup =>
  html`<td class="number ${kind}">${ms === null ? '–' : duration(ms)}</td>`;

const durationRow = (duration: PhaseDuration, longest: number): Markup => {
  const { label, known, of, p50, p90, p99 } = duration;
  return html`<tr>
    <th scope="row">${label}<span class="why">known in ${known} of ${of}</span></th>
    ${cell(p50)}${cell(p90)}${cell(p99, 'wide-only')}${cell(duration.longest, 'wide-only')}
    <td class="wide-only">${durationBar(duration, longest)}</td>
  </tr>`;
};

const durationTable = (title: string, durations: readonly PhaseDuration[]): Markup => {
  const longest = Math.max(1, ...durations.map(({ longest }) => longest ?? 0));
  return html`<table>
    <caption>
      ${title}
    </caption>
    <thead>
      <tr>
        <th scope="col">From → to</th>
        <th scope="col" class="number">Half within</th>
        <th scope="col" class="number">90 %</th>
        <th scope="col" class="number wide-only">99 %</th>
        <th scope="col" class="number wide-only">Longest</th>
        <th scope="col" class="wide-only"><span class="soft">Half, 90 %</span></th>
      </tr>
    </thead>
    <tbody>
      ${durations.map((duration) => durationRow(duration, longest))}
    </tbody>
  </table>`;
};

const durationPart = (incidents: readonly Incident[]): Markup | null => {
  const { phases, wholes } = phaseDurations(incidents);
  if ([...phases, ...wholes].every(({ known }) => known === 0)) return null;
  return html`<section aria-labelledby="spread">
    <h2 id="spread">How long each phase took</h2>
    <p class="lead">Incidents with a fence. Each figure is a time that was measured. Unknown times are left out.</p>
    <div class="card">${durationTable('The whole way', wholes)}</div>
    <div class="card">${durationTable('Phase by phase', phases)}</div>
  </section>`;
};

const countTiles = (incidents: readonly Incident[]): Markup =>
  html`<ul class="tiles">
    ${tile(String(incidents.length), incidents.length === 1 ? 'incident' : 'incidents')}
    ${[...countsOf(incidents)].map(([state, many]) => tile(String(many), stateWords[state].chip))}
  </ul>`;

const refusalTable = (refusals: readonly Refusal[]): Markup =>
  html`<div class="card">
    <table>
      <caption>
        What it would have refused, and why
      </caption>
      <thead>
        <tr>
          <th scope="col">Reason</th>
          <th scope="col" class="number">Incidents</th>
        </tr>
      </thead>
      <tbody>
        ${refusals.map(
          ({ code, count, says }) =>
            html`<tr>
              <th scope="row"><code>${name(code)}</code><span class="why">such as: ${name(says)}</span></th>
              <td class="number">${count}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

/** The known times without Cloudfence. Times that nobody observed are not guessed. */
const managedTiles = ({ managed, wouldFence, saved }: ShadowSummary): Markup => {
  const total = managed.reduce((sum, { took }) => sum + took, 0);
  const seen = `observed in ${managed.length} of ${wouldFence}`;
  return html`${tile(
    managed.length === 0 ? 'not observed' : duration(total),
    `until Kubernetes managed by itself, ${seen}`,
  )}
  ${managed.length === 0 ? null : tile(duration(saved), 'Cloudfence would have saved')}`;
};

const shadowLines = (summary: ShadowSummary): Markup => {
  const { steps } = summary;
  const taken = [...steps].map(([step, many]) => `${many} × ${step}`).join(', ');
  return html`${shadowStory(summary).map((sentence) => html`<p class="soft">${sentence}</p>`)}${
    steps.size === 0 ? null : html`<p>First steps that it would have taken: ${name(taken)}.</p>`
  }`;
};

/** Summarizes the results of shadow mode. */
const shadowPart = ({ incidents, read }: Report): Markup => {
  const summary = shadowSummaryOf(incidents, read);
  const { wouldFence, refusals } = summary;
  const refused = refusals.reduce((sum, { count }) => sum + count, 0);
  return html`<section aria-labelledby="shadow">
    <h2 id="shadow">Shadow mode</h2>
    <ul class="tiles">
      ${tile(String(summary.incidents), summary.incidents === 1 ? 'incident' : 'incidents')}
      ${tile(String(wouldFence), 'Cloudfence would have fenced')} ${tile(String(refused), 'it would have refused')}
      ${managedTiles(summary)}
    </ul>
    ${shadowLines(summary)}${refusals.length === 0 ? null : refusalTable(refusals)}
  </section>`;
};

const EMPTY = html`<section class="card">
  <h2>No incident</h2>
  <p>${NOTHING_HAPPENED} <code>cloudfence doctor</code> says whether a fence would work.</p>
</section>`;

const titleOf = ({ wanted: { shadow }, incidents }: Report): string => {
  if (shadow) return 'What Cloudfence would have done';
  const [only] = incidents;
  return only && incidents.length === 1 ? `Incident of ${dateMinute(beganAt(only))} UTC` : 'Incidents';
};

const scopeOf = ({ wanted: { since, target }, where, made, incidents }: Report): string =>
  [
    target === null ? count(incidents.length, 'incident') : `${count(incidents.length, 'incident')} of ${target}`,
    since === null ? '' : ` since ${dateMinute(since)} UTC`,
    `, from ${where}. Made on ${dateMinute(made)} UTC.`,
  ].join('');

const overview = (report: Report): Markup | null => {
  const { wanted, incidents } = report;
  if (incidents.length === 0) return EMPTY;
  const summary = wanted.shadow ? shadowPart(report) : null;
  if (incidents.length === 1) return summary;
  return html`${summary ?? countTiles(incidents)}${listPart(incidents)}${durationPart(incidents)}`;
};

const OTHERS = html`<p class="soft">
  The page shows the newest ${MOST_WHOLE} in full. <code>cloudfence report &lt;fence&gt;</code> shows any other.
</p>`;

const wholes = (incidents: readonly Incident[]): Markup | null =>
  incidents.length === 0
    ? null
    : html`<section aria-labelledby="one-by-one">
        <h2 id="one-by-one">${incidents.length === 1 ? 'What happened' : 'One by one'}</h2>
        ${incidents.slice(0, MOST_WHOLE).map((one, index) => incidentSection(one, index + 1, incidents.length === 1))}
        ${incidents.length <= MOST_WHOLE ? null : OTHERS}
      </section>`;

/** Only this style sheet has an effect on the page, whatever text an incident contains. */
const policyFor = (style: string): string => {
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src 'sha256-${hash}'`;
};

/** Returns the report as HTML. Pure. */
export const reportPage = (report: Report): string => {
  const style = `${pageStyle}${chartStyle}`;
  const { incidents } = report;
  const title = titleOf(report);
  return `<!doctype html>\n${textOf(
    html`<html lang="en" dir="ltr">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${ownText(policyFor(style))}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="generator" content="cloudfence" />
        <link rel="icon" href="data:," />
        <title>${[title, ...incidents.slice(0, 1).map(subjectOf)].join(' · ')} · Cloudfence</title>
        ${styleElement(style)}
      </head>
      <body>
        <a class="skip" href="#content">To the content</a>${chartPatterns}
        <header>
          <p class="brand">Cloudfence report</p>
          <h1>${name(title)}</h1>
          <p class="lead">${name(scopeOf(report))}</p>
        </header>
        <main id="content" tabindex="-1">${damagedPart(report)}${overview(report)}${wholes(incidents)}</main>
        <footer><p>How to read this page: docs/report.md. What each reason means: docs/runbook.md.</p></footer>
      </body>
    </html>`,
  )}\n`;
};
