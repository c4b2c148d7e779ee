import { createHash } from 'node:crypto';
import type { Incident } from '../incidents/incident.ts';
import { chartPatterns } from './chart.ts';
import { dateMinute, count, subjectOf } from './words.ts';
import { incidentSection } from './incident-section.ts';
import { html, type Markup, name, ownText, styleElement, textOf } from './markup.ts';
import { countTiles, damagedPart, listPart, MOST_WHOLE, shadowPart, spreadPart } from './overview.ts';
import type { Report } from './select.ts';
import { chartStyle, pageStyle } from './style.ts';
import { beganAt } from './timeline.ts';

/** The report as one page, which needs no network and runs no code. */

const EMPTY = html`<section class="card">
  <h2>No incident</h2>
  <p>
    Nothing was fenced, refused, or seen in shadow mode in this time. <code>cloudfence doctor</code> says whether a
    fence would work.
  </p>
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
  return html`${summary ?? countTiles(incidents)}${listPart(incidents)}${spreadPart(incidents)}`;
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

/** Nothing but this style sheet has an effect in the page, whatever an incident says. */
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
