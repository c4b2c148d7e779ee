import type { Incident } from '../incidents/incident.ts';
import { countsOf, type Refusal, shadowSummaryOf, type ShadowSummary, type Spread, spreadsOf } from './figures.ts';
import { dateMinute, duration, count, shadowStory, stateWords, subjectOf } from './words.ts';
import { stateChips } from './incident-section.ts';
import { html, type Markup, name } from './markup.ts';
import type { Report } from './select.ts';
import { beganAt, between } from './timeline.ts';

/** What the page says about all incidents together. */

/** More whole incidents would make the page slow. The list names all of them. */
export const MOST_WHOLE = 50;

const tile = (value: string, label: string): Markup => html`<li><b>${value}</b> <span>${label}</span></li>`;

export const damagedPart = ({ damaged }: Report): Markup | null =>
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

export const listPart = (incidents: readonly Incident[]): Markup =>
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

/** Draws half of the times darkly, 90 % lightly, and the rail up to the longest time of all phases. */
const spreadBar = ({ p50, p90 }: Spread, longest: number): Markup =>
  html`<svg class="spread" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
    <line class="rail" x1="0" x2="100" y1="7" y2="7" />
    <rect class="most" width="${x(p90 ?? 0, longest)}" y="2" height="10" />
    <rect class="half" width="${x(p50 ?? 0, longest)}" y="2" height="10" />
  </svg>`;

const cell = (ms: number | null, kind = ''): Markup =>
  html`<td class="number ${kind}">${ms === null ? '–' : duration(ms)}</td>`;

const spreadRow = (spread: Spread, longest: number): Markup => {
  const { label, known, of, p50, p90, p99 } = spread;
  return html`<tr>
    <th scope="row">${label}<span class="why">known in ${known} of ${of}</span></th>
    ${cell(p50)}${cell(p90)}${cell(p99, 'wide-only')}${cell(spread.longest, 'wide-only')}
    <td class="wide-only">${spreadBar(spread, longest)}</td>
  </tr>`;
};

const spreadTable = (title: string, spreads: readonly Spread[]): Markup => {
  const longest = Math.max(1, ...spreads.map(({ longest }) => longest ?? 0));
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
      ${spreads.map((spread) => spreadRow(spread, longest))}
    </tbody>
  </table>`;
};

export const spreadPart = (incidents: readonly Incident[]): Markup | null => {
  const { phases, wholes } = spreadsOf(incidents);
  if ([...phases, ...wholes].every(({ known }) => known === 0)) return null;
  return html`<section aria-labelledby="spread">
    <h2 id="spread">How long each phase took</h2>
    <p class="lead">
      Incidents with a fence. Each figure is a time that was measured. A time that is not known is in none.
    </p>
    <div class="card">${spreadTable('The whole way', wholes)}</div>
    <div class="card">${spreadTable('Phase by phase', phases)}</div>
  </section>`;
};

export const countTiles = (incidents: readonly Incident[]): Markup =>
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

/** What is known of the time without Cloudfence. What nobody observed is not guessed. */
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

/** Sums up what shadow mode saw. */
export const shadowPart = ({ incidents, read }: Report): Markup => {
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
