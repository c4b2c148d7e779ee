import { duration, tickText, ticks } from './words.ts';
import { kubernetesAlone, type Remedy } from './figures.ts';
import { html, type Markup, ownText, styleElement, textOf, chartStyle, colors } from './markup.ts';
import { isProvenOff, type Phase, type Timeline, tookOf } from './timeline.ts';

/**
 * The timeline of one incident as SVG. The upper part shows the phases. The lower part compares the incident with the
 * time that Kubernetes takes without Cloudfence. It contains no names from the incident.
 */

/** Positions in units of the drawing. */
interface Layout {
  readonly kind: 'wide' | 'narrow';
  readonly width: number;
  /** The plot area begins and ends here. */
  readonly left: number;
  readonly right: number;
  readonly row: number;
  /** The distance of the labels above the bar. 0: the labels are next to the bar. */
  readonly labelAbove: number;
  readonly mostTicks: number;
}

const wide: Layout = { kind: 'wide', width: 800, left: 204, right: 584, row: 27, labelAbove: 0, mostTicks: 6 };
const narrow: Layout = { kind: 'narrow', width: 340, left: 2, right: 338, row: 40, labelAbove: 17, mostTicks: 4 };

const BAR = 12;
/** The distance between the plot and the end of the column of values. */
const VALUES = 104;
const AXIS = 26;
const HEADING = 30;
const FUNNEL = 26;
/** Long enough for the slow remedies and some time after the end of their observation. */
const SHORTEST_SCALE = (kubernetesAlone.watched + 40) * 1_000;

interface Scale {
  readonly span: number;
  readonly x: (ms: number) => number;
}

const round = (value: number): number => Math.round(value * 100) / 100;

const scaleOf = ({ left, right }: Layout, span: number): Scale => ({
  span,
  x: (ms) => round(left + (Math.min(Math.max(ms, 0), span) / span) * (right - left)),
});

const axis = ({ left, right, mostTicks }: Layout, { span, x }: Scale, top: number, height: number): Markup => {
  const marks = ticks(span, mostTicks);
  const anchor = (at: number): string => (at - left < 12 ? 'start' : right - at < 18 ? 'end' : 'middle');
  return html`${marks.map(
    (ms) =>
      html`<line class="grid" x1="${x(ms)}" x2="${x(ms)}" y1="${top}" y2="${top + height}" /><text
          class="tick"
          x="${x(ms)}"
          y="${top - 7}"
          text-anchor="${anchor(x(ms))}"
          >${tickText(ms)}</text
        >`,
  )}`;
};

interface Row {
  readonly label: string;
  readonly value: string;
  readonly note: string;
  readonly bars: Markup;
  readonly known: boolean;
}

/** Draws one row: its label, its bars, and the measured value. */
const rowOf = (layout: Layout, { label, value, note, bars, known }: Row, top: number): Markup => {
  const { width, right, row, labelAbove } = layout;
  const words = labelAbove > 0 ? top + 13 : top + row / 2 + 4.5;
  const weak = known ? '' : ' unknown';
  const values =
    labelAbove > 0
      ? html`<text class="value${weak}" x="${width - 2}" y="${words}" text-anchor="end"
          >${note === '' ? value : `${value} · ${note}`}</text
        >`
      : html`<text class="value${weak}" x="${right + VALUES}" y="${words}" text-anchor="end">${value}</text
          ><text class="note${weak}" x="${width - 4}" y="${words}" text-anchor="end">${note}</text>`;
  return html`<text class="label${weak}" x="${labelAbove > 0 ? 2 : 4}" y="${words}">${label}</text>${values}${bars}`;
};

const barTop = ({ row, labelAbove }: Layout, top: number): number =>
  labelAbove > 0 ? top + labelAbove + 3 : top + (row - BAR) / 2;

const bar = (layout: Layout, { x }: Scale, top: number, kind: string, from: number, to: number): Markup =>
  html`<rect
    class="${kind}"
    x="${x(from)}"
    y="${barTop(layout, top)}"
    width="${round(Math.max(3, x(to) - x(from)))}"
    height="${BAR}"
    rx="3"
  />`;

const track = (layout: Layout, top: number, kind: string): Markup =>
  html`<rect
    class="${kind}"
    x="${layout.left}"
    y="${barTop(layout, top)}"
    width="${layout.right - layout.left}"
    height="${BAR}"
    rx="3"
  />`;

const phaseRow = (layout: Layout, scale: Scale, { start }: Timeline, phase: Phase, top: number): Markup => {
  const { label, at, from, takes, missing } = phase;
  if (at === null) {
    const says = missing === null || missing.says === 'did not happen' ? 'none' : missing.says;
    const bars = says === 'none' ? html`` : track(layout, top, 'absent');
    return rowOf(layout, { label, value: says, note: '', bars, known: false }, top);
  }
  const took = tookOf(phase);
  const bars = bar(layout, scale, top, takes, Math.min(from ?? at, at) - start, at - start);
  const note = took === null ? '' : `+${duration(took)}`;
  return rowOf(layout, { label, value: duration(at - start), note, bars, known: true }, top);
};

/** Stripes, so that it does not look like a measured time. */
const OPEN_END =
  '<pattern id="open-end" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">' +
  '<rect class="alone" width="4" height="8"/></pattern>';

const remedyRow = (layout: Layout, scale: Scale, remedy: Remedy, acted: number, top: number): Markup => {
  const { label, attachedElsewhere } = remedy;
  if (attachedElsewhere === null) {
    const value = `> ${duration(kubernetesAlone.watched * 1_000)}`;
    const bars = track(layout, top, 'open-end');
    return rowOf(layout, { label, value, note: 'not seen', bars, known: true }, top);
  }
  const ms = attachedElsewhere * 1_000;
  const waits = acted > 0 ? bar(layout, scale, top, 'unnoticed', 0, acted) : null;
  const bars = html`${waits}${bar(layout, scale, top, 'alone', acted, acted + ms)}`;
  return rowOf(layout, { label, value: duration(acted + ms), note: `+${duration(ms)}`, bars, known: true }, top);
};

/** The earliest time at which a person could have acted: when Cloudfence first looked. */
const actedAt = ({ start, recovery }: Timeline): number => {
  const received = recovery.find(({ name }) => name === 'received')?.at ?? null;
  return received === null ? 0 : Math.max(0, received - start);
};

const ownRow = (layout: Layout, scale: Scale, timeline: Timeline, top: number): Markup => {
  const acted = actedAt(timeline);
  const span = timeline.end - timeline.start;
  const done = timeline.recovery.some(
    ({ name, at }) => at !== null && (name === 'fenced' || name === 'attachedElsewhere'),
  );
  const label = done ? 'This incident' : 'This incident, so far';
  const bars = [bar(layout, scale, top, 'unnoticed', 0, acted), bar(layout, scale, top, 'cloudfence', acted, span)];
  return rowOf(
    layout,
    { label, value: duration(span), note: `+${duration(span - acted)}`, bars: html`${bars}`, known: true },
    top,
  );
};

/** Connects the phases with the same time on the larger scale. */
const funnel = ({ left, right }: Layout, { x }: Scale, span: number, top: number, bottom: number): Markup =>
  html`<path class="funnel" d="M${left} ${top}H${right}L${round(Math.max(x(span), left + 3))} ${bottom}H${left}Z" />`;

const heading = ({ labelAbove }: Layout, text: string, y: number): Markup =>
  html`<text class="heading" x="${labelAbove > 0 ? 2 : 4}" y="${y}">${text}</text>`;

const columnHead = (text: string, x: number, y: number): Markup =>
  html`<text class="tick" x="${x}" y="${y}" text-anchor="end">${text}</text>`;

const headings = (layout: Layout, y: number): Markup => {
  const { labelAbove, right, width } = layout;
  const columns =
    labelAbove > 0
      ? columnHead('reached at · took', width - 2, y)
      : html`${columnHead('reached at', right + VALUES, y)}${columnHead('took', width - 4, y)}`;
  return html`${heading(layout, 'Phase by phase', y)}${columns}`;
};

interface Drawing {
  readonly body: Markup;
  readonly height: number;
}

/** The vertical positions of the two parts of a drawing. */
const placesOf = ({ row }: Layout, phases: number) => {
  const phasesTop = HEADING + AXIS;
  const phasesEnd = phasesTop + phases * row;
  const wholeTop = phasesEnd + FUNNEL + HEADING + AXIS;
  return { phasesTop, phasesEnd, wholeTop, bottom: wholeTop + (kubernetesAlone.remedies.length + 1) * row };
};

const remedyRows = (layout: Layout, scale: Scale, timeline: Timeline, top: number): readonly Markup[] =>
  kubernetesAlone.remedies.map((remedy, index) =>
    remedyRow(layout, scale, remedy, actedAt(timeline), top + index * layout.row),
  );

/** Draws what Kubernetes does without Cloudfence, on a smaller scale. */
const comparison = (timeline: Timeline, layout: Layout, span: number): readonly Markup[] => {
  const { phasesEnd, wholeTop, bottom } = placesOf(layout, timeline.recovery.length);
  const whole = scaleOf(layout, Math.max(SHORTEST_SCALE, span * 1.05));
  return [
    funnel(layout, whole, span, phasesEnd + 2, wholeTop - AXIS + 4),
    heading(layout, 'Beside Kubernetes alone', wholeTop - AXIS - 12),
    axis(layout, whole, wholeTop, bottom - wholeTop),
    ownRow(layout, whole, timeline, wholeTop),
    ...remedyRows(layout, whole, timeline, wholeTop + layout.row),
  ];
};

const draw = (timeline: Timeline, layout: Layout): Drawing => {
  const { recovery, start, end } = timeline;
  const span = Math.max(100, end - start);
  const detail = scaleOf(layout, span * 1.02);
  const { phasesTop, phasesEnd, bottom } = placesOf(layout, recovery.length);
  const compared = isProvenOff(timeline);
  const parts: readonly Markup[] = [
    headings(layout, 18),
    axis(layout, detail, phasesTop, phasesEnd - phasesTop),
    ...recovery.map((phase, index) => phaseRow(layout, detail, timeline, phase, phasesTop + index * layout.row)),
    ...(compared ? comparison(timeline, layout, span) : []),
  ];
  return { height: (compared ? bottom : phasesEnd) + 6, body: html`${parts}` };
};

const spoken = ({ start, recovery }: Timeline): string => {
  const known = recovery.flatMap(({ label, at }) => (at === null ? [] : [`${label} at ${duration(at - start)}`]));
  const others = recovery.flatMap(({ label, missing }) =>
    missing !== null && missing.says !== 'did not happen' ? [label] : [],
  );
  return `${known.join(', ')}. Not known: ${others.join(', ')}. The table below has the same times.`;
};

const svg = (timeline: Timeline, layout: Layout, label: string): Markup => {
  const { body, height } = draw(timeline, layout);
  return html`<svg
    class="chart ${layout.kind}"
    viewBox="0 0 ${layout.width} ${height}"
    role="img"
    aria-label="${label}"
  >
    ${body}
  </svg>`;
};

/** Returns the timeline for a page: one drawing for wide screens and paper, and one for phones. */
export const timelineCharts = (timeline: Timeline): Markup => {
  const label = `Timeline. ${spoken(timeline)}`;
  return html`${svg(timeline, wide, label)}${svg(timeline, narrow, label)}`;
};

/** The patterns that the drawings of a page share. */
export const chartPatterns: Markup = html`<svg
  class="patterns"
  width="0"
  height="0"
  aria-hidden="true"
  focusable="false"
>
  <defs>${ownText(OPEN_END)}</defs>
</svg>`;

/** Returns the timeline as a separate picture. */
export const timelinePicture = (timeline: Timeline): string => {
  const { body, height } = draw(timeline, wide);
  const { width } = wide;
  return `${textOf(
    html`<svg
      xmlns="http://www.w3.org/2000/svg"
      class="chart wide"
      viewBox="0 0 ${width} ${height}"
      width="${width}"
      height="${height}"
      role="img"
    >
      <title>Timeline. ${spoken(timeline)}</title>
      ${styleElement(`${colors}${chartStyle}`)}
      <defs>${ownText(OPEN_END)}</defs>
      <rect class="paper" width="${width}" height="${height}" rx="8" />
      ${body}
    </svg>`,
  )}\n`;
};
