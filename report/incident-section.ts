import { powerInWords } from '../fencing/model/machine.ts';
import type { Incident, IncidentStep, Proof, Trigger } from '../incidents/incident.ts';
import { timelineCharts } from './chart.ts';
import { clockTime, dateTime, duration, count, factsOf, stateWords, describeIncident, subjectOf } from './words.ts';
import { kubernetesAlone } from './figures.ts';
import { html, type Markup, name } from './markup.ts';
import {
  between,
  epochMs,
  type PhaseSource,
  type Phase,
  type PhaseName,
  type Timeline,
  isProvenOff,
  timelineOf,
  tookOf,
} from './timeline.ts';

/** One incident on the page: the summary, the timeline, and the evidence for each step. */

/** More rows would make the page slow. The JSON report contains all of them. */
const MOST_ROWS = 300;

const NONE = html`<p class="soft">None is recorded.</p>`;

const rest = (all: number, what: string): Markup | null =>
  all > MOST_ROWS
    ? html`<p class="soft">${all - MOST_ROWS} more ${what} are in the report as JSON (<code>-o report.json</code>).</p>`
    : null;

const chip = (word: string, tone: string): Markup => html`<span class="chip ${tone}">${word}</span>`;

export const stateChips = ({ state, shadow }: Incident): Markup => {
  const { chip: word, tone } = stateWords[state];
  return html`${chip(word, tone)}${shadow && state !== 'would-fence' ? html` ${chip('shadow', 'calm')}` : null}`;
};

const tile = (incident: Incident, label: string, from: PhaseName, to: PhaseName): Markup | null => {
  const ms = between(incident, from, to);
  return ms === null || ms < 0 ? null : html`<li><b>${duration(ms)}</b> <span>${label}</span></li>`;
};

const tiles = (incident: Incident): Markup =>
  html`<ul class="tiles">
    ${tile(incident, 'off, before the first look', 'off', 'received')}
    ${tile(incident, 'from the first look to the proof', 'received', 'proven')}
    ${tile(incident, 'from the first look until all was free', 'received', 'fenced')}
    ${tile(incident, 'from off until attached elsewhere', 'off', 'attachedElsewhere')}
    ${tile(incident, 'quarantined', 'marked', 'released')}
  </ul>`;

const facts = (incident: Incident): Markup =>
  html`<dl class="facts">
    ${factsOf(incident).map(
      ([what, value]) =>
        html`<div>
          <dt>${what}</dt>
          <dd class="id">${name(value)}</dd>
        </div>`,
    )}
  </dl>`;

const swatch = (kind: string, says: string): Markup =>
  html`<li>
    <svg width="14" height="10" aria-hidden="true"><rect class="swatch ${kind}" width="14" height="10" rx="2" /></svg
    >${says}
  </li>`;

const legend = (compared: boolean): Markup =>
  html`<ul class="legend">
    ${swatch('unnoticed', 'nobody acts yet')}${swatch('cloudfence', 'Cloudfence')}
    ${swatch('kubernetes', 'Kubernetes and the driver')}
    ${compared ? swatch('alone', 'without Cloudfence, measured') : null}
  </ul>`;

const caption = html`<figcaption>
  Below: the volume attached to another Node, measured on Kubernetes ${kubernetesAlone.kubernetes} on
  ${kubernetesAlone.measured} with one database on one volume (${kubernetesAlone.source}). It was watched for
  ${kubernetesAlone.watched} s. A person's remedy begins here when Cloudfence looked, and has no proof that the machine
  is off. It is a comparison, not a forecast for this cluster.
</figcaption>`;

const listNames: Readonly<Record<PhaseSource['list'], string>> = { triggers: 'asked', proofs: 'proof', steps: 'step' };

const anchor = (at: number, { list, index }: PhaseSource): string => `i${at}-${listNames[list]}-${index + 1}`;

const behindLink = (at: number, behind: PhaseSource): Markup =>
  html` <a href="#${anchor(at, behind)}">${listNames[behind.list]} ${behind.index + 1}</a>`;

const phaseRow = (at: number, { start }: Timeline, phase: Phase): Markup => {
  const took = tookOf(phase);
  if (phase.at === null)
    return html`<tr>
      <th scope="row">${phase.label}</th>
      <td colspan="3" class="soft">${phase.missing?.says ?? null}: ${phase.missing?.why ?? null}</td>
    </tr>`;
  return html`<tr>
    <th scope="row">${phase.label}</th>
    <td class="time">${clockTime(phase.at)}${phase.behind.map((one) => behindLink(at, one))}</td>
    <td class="number wide-only">${duration(phase.at - start)}</td>
    <td class="number">${took === null ? '–' : duration(took)}</td>
  </tr>`;
};

const phaseTable = (at: number, timeline: Timeline): Markup =>
  html`<h4>Phases</h4>
    <table>
      <caption>
        Times of ${dateTime(timeline.start).slice(0, 10)}, UTC. The cloud's clock gives the first two, and Cloudfence's
        clock the others.
      </caption>
      <thead>
        <tr>
          <th scope="col">Phase</th>
          <th scope="col">Reached</th>
          <th scope="col" class="number wide-only">After</th>
          <th scope="col" class="number">Took</th>
        </tr>
      </thead>
      <tbody>
        ${[...timeline.recovery, ...timeline.after].map((phase) => phaseRow(at, timeline, phase))}
      </tbody>
    </table>`;

const evidence = (words: Readonly<Record<string, string>>): Markup =>
  html`<dl class="evidence">
    ${Object.entries(words).map(
      ([what, value]) =>
        html`<dt>${name(what)}</dt>
          <dd class="id">${name(value)}</dd>`,
    )}
  </dl>`;

const proofItem =
  (at: number) =>
  ({ asked, answered, power, requestId, evidence: words }: Proof, index: number): Markup =>
    html` <li id="${anchor(at, { list: 'proofs', index })}">
      <span class="time">${dateTime(epochMs(answered))}</span> <b>${name(powerInWords(power))}</b>
      <span class="soft"
        >answered after
        ${duration(epochMs(answered) - epochMs(asked))}${requestId === null ? ', without a request id' : null}</span
      >
      ${evidence(words)}
    </li>`;

const stepTone: Readonly<Record<IncidentStep['result'], string>> = {
  done: 'good',
  already: 'calm',
  'dry-run': 'blue',
  refused: 'warn',
  failed: 'bad',
};

/** Links to the proof on which a step is based. */
const restsOn = (at: number, { proof }: IncidentStep, { proofs }: Incident): Markup | null => {
  const index = proofs.findIndex(({ asked }) => asked === proof);
  return index < 0 ? null : html` · rests on${behindLink(at, { list: 'proofs', index })}`;
};

const stepRow =
  (at: number, incident: Incident) =>
  (step: IncidentStep, index: number): Markup =>
    html` <tr id="${anchor(at, { list: 'steps', index })}">
      <td class="time">${clockTime(epochMs(step.started))}</td>
      <td>
        <b>${name(step.step)}</b> <span class="id">${name(step.target)}</span>
        <span class="why">${name(step.because.says)} (${name(step.because.code)})${restsOn(at, step, incident)}</span>
        ${step.message === null ? null : html`<span class="why">${name(step.message)}</span>`}
      </td>
      <td>
        ${chip(step.result === 'dry-run' ? 'imagined' : step.result, stepTone[step.result])}
        <span class="why number">${duration(epochMs(step.ended) - epochMs(step.started))}</span>
      </td>
    </tr>`;

const stepTable = (at: number, incident: Incident): Markup =>
  incident.steps.length === 0
    ? html`<p class="soft">No step was taken.</p>`
    : html`<table>
          <thead>
            <tr>
              <th scope="col">Began</th>
              <th scope="col">Step</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>
            ${incident.steps.slice(0, MOST_ROWS).map(stepRow(at, incident))}
          </tbody>
        </table>
        ${rest(incident.steps.length, 'steps')}`;

const triggerItem =
  (at: number) =>
  ({ kind, event, says, happened, received }: Trigger, index: number): Markup =>
    html` <li id="${anchor(at, { list: 'triggers', index })}">
      <span class="time">${dateTime(epochMs(received))}</span> ${kind}
      ${says === null ? null : html`<b>${name(says)}</b>`}
      ${event === null ? null : html`<span class="id">${name(event)}</span>`}
      ${happened === null ? null : html`<span class="soft">happened at ${dateTime(epochMs(happened))}</span>`}
    </li>`;

const endItem = ({ outcome, because, at, run }: Incident['ends'][number]): Markup =>
  html`<li>
    <span class="time">${dateTime(epochMs(at))}</span> <b>${outcome}</b> ${name(because.says)} (${name(because.code)})
    <span class="soft">run <span class="id">${name(run)}</span></span>
  </li>`;

const items = (all: readonly Markup[], what: string): Markup =>
  all.length === 0
    ? NONE
    : html`<ul class="plain">
          ${all.slice(0, MOST_ROWS)}
        </ul>
        ${rest(all.length, what)}`;

const onTheNode = ({ pods, volumes, left }: Incident): Markup =>
  html` <h4>Pods</h4>
    ${items(
      pods.map(({ namespace, name: pod }) => html`<li class="id">${name(`${namespace}/${pod}`)}</li>`),
      'pods',
    )}
    <h4>Volumes</h4>
    ${items(
      volumes.map(
        ({ driver, handle, persistentVolume }) =>
          html`<li class="id">
            ${name(handle)}
            <span class="soft"
              >${name(driver)}${persistentVolume === null ? null : html`, ${name(persistentVolume)}`}</span
            >
          </li>`,
      ),
      'volumes',
    )}
    <h4>Left alone</h4>
    ${items(
      left.map(({ what, why }) => html`<li><span class="id">${name(what)}</span>: ${name(why)}</li>`),
      'objects',
    )}`;

const releasePart = ({ release }: Incident): Markup | null =>
  release === null
    ? null
    : html`<p>
          <span class="time">${dateTime(epochMs(release.at))}</span> ${name(release.because.says)}
          (${name(release.because.code)}). The new boot of the Node is <span class="id">${name(release.bootID)}</span>.
          ${release.accepted === null ? null : html`A person vouched for it: ${name(release.accepted)}`}
        </p>
        ${evidence(release.evidence)}`;

const part = (open: boolean, title: string, about: string, body: Markup | null): Markup | null =>
  body === null
    ? null
    : html`<details${open ? html` open` : null}>
        <summary>${title} <span class="soft">${about}</span></summary>
        ${body}
      </details>`;

/**
 * Renders an incident as a section of the page. `at` is its number on the page. `open` shows all of its evidence at
 * once.
 */
export const incidentSection = (incident: Incident, at: number, open: boolean): Markup => {
  const timeline = timelineOf(incident);
  const compared = isProvenOff(timeline);
  const { proofs, steps, triggers, ends, pods, volumes } = incident;
  const held = `${count(pods.length, 'pod')}, ${count(volumes.length, 'volume')}`;
  const answers = `${count(proofs.length, 'live answer')} of the cloud`;
  return html`<article class="card incident" id="incident-${at}" aria-labelledby="incident-${at}-title">
    <div class="top">
      <h3 id="incident-${at}-title">${name(subjectOf(incident))}</h3>
      <div>${stateChips(incident)}</div>
    </div>
    <p class="story">${name(describeIncident(incident))}</p>
    ${tiles(incident)}
    <figure>${timelineCharts(timeline)}${legend(compared)}${compared ? caption : null}</figure>
    ${facts(incident)} ${phaseTable(at, timeline)} ${part(open, 'Steps', String(steps.length), stepTable(at, incident))}
    ${part(open, 'Proofs', answers, items(proofs.map(proofItem(at)), 'answers'))}
    ${part(open, 'Who asked', String(triggers.length), items(triggers.map(triggerItem(at)), 'times'))}
    ${part(open, 'How each run ended', String(ends.length), items(ends.map(endItem), 'ends'))}
    ${part(open, 'On the Node when the fence began', held, onTheNode(incident))}
    ${part(open, 'What proved the return', '', releasePart(incident))}
  </article>`;
};
