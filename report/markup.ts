/**
 * Escaped text for HTML, SVG, and Markdown. Tenants write names and evidence. So all text that does not come from this
 * directory is escaped, and no character can change the direction or the order of the text.
 */

const content = Symbol('markup');

/** A text that is already markup. Text from an incident never has this type. */
export interface Markup {
  readonly [content]: string;
}

export type MarkupPart = string | number | Markup | null | readonly MarkupPart[];

/** Longer than any name in Kubernetes or a cloud (characters). The JSON report contains the whole text. */
const LONGEST = 600;

/**
 * Control characters, and invisible characters that reverse or hide the text next to them. Joiners are kept, because
 * some languages need them.
 */
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu;

const shown = (character: string): string =>
  /[\t\n\r]/.test(character)
    ? ' '
    : `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`;

/** Makes every character visible, and limits the length. */
export const makeVisible = (text: string): string => {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return cut.toWellFormed().replaceAll(INVISIBLE, shown);
};

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => makeVisible(text).replaceAll(/[&<>"']/g, (one) => entities[one] ?? '');

const markupOf = (part: MarkupPart): string => {
  if (part === null) return '';
  if (typeof part === 'string') return escaped(part);
  if (typeof part === 'number') return String(part);
  return content in part ? part[content] : part.map(markupOf).join('');
};

/**
 * A template for HTML and SVG. The template text is markup, and each inserted value is escaped. Attributes need quotes.
 */
export const html = (strings: TemplateStringsArray, ...parts: readonly MarkupPart[]): Markup => ({
  [content]: strings.map((text, index) => text + markupOf(parts[index] ?? null)).join(''),
});

/** Returns text from this directory, such as a style sheet, without escaping. Never pass text from an incident. */
export const ownText = (text: string): Markup => ({ [content]: text });

/**
 * Returns a style sheet of this directory as an element without surrounding spaces, because the page's policy contains
 * its hash.
 */
export const styleElement = (css: string): Markup => ownText(`<style>${css}</style>`);

export const textOf = (markup: Markup): string => markup[content];

/** A name from an incident. Its text direction does not affect the text around it. */
export const name = (text: string): Markup => html`<bdi>${text}</bdi>`;

/** Escapes a text for Markdown, including cells of a table. */
export const plain = (text: string): string =>
  makeVisible(text)
    .replaceAll(/[\\`*_[\]<>|~#]/g, (one) => `\\${one}`)
    .replaceAll('&', '&amp;')
    .replaceAll('://', ':\\//');

/**
 * The styles of the report, for light and dark mode. Each pair of text and background colors has a contrast of at least
 * 4.5, which a test measures.
 */

const light = `--ground:#f5f6f8;--card:#fff;--ink:#18202b;--soft:#566171;--line:#dde2e8;--edge:#8792a0;--link:#2747c4;--cloudfence:#3d5be0;--kubernetes:#0b8473;--unnoticed:#c26a12;--alone:#7d8896;--absent:#eef0f3;--good:#166b41;--good-ground:#e2f4ea;--bad:#ab1f3b;--bad-ground:#fce8ec;--warn:#8a4b06;--warn-ground:#fdf0dd;--calm:#3a4656;--calm-ground:#e9edf2;--blue:#2747c4;--blue-ground:#e6ebfd`;
const dark = `--ground:#0e131a;--card:#161d27;--ink:#e7ecf3;--soft:#a3afbe;--line:#2a3441;--edge:#66737f;--link:#a0b4ff;--cloudfence:#7f97ff;--kubernetes:#45bfa9;--unnoticed:#e09a45;--alone:#8190a1;--absent:#1e2733;--good:#79dba8;--good-ground:#12301f;--bad:#ff9aac;--bad-ground:#3a151e;--warn:#f3bd74;--warn-ground:#38260d;--calm:#c4cedb;--calm-ground:#242e3b;--blue:#b0c0ff;--blue-ground:#1c2650`;

const FONT = `system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif`;

export const colors = `:root{${light}}@media screen and (prefers-color-scheme:dark){:root{${dark}}}`;

export const chartStyle = `
.chart{font-family:${FONT};font-variant-numeric:tabular-nums}
.chart text{font-size:13px;fill:var(--ink)}
.chart .heading{font-size:13px;font-weight:600}
.chart .tick,.chart .note{font-size:12px;fill:var(--soft)}
.chart .value{font-weight:600}
.chart .unknown{fill:var(--soft);font-weight:400;font-style:italic}
.chart .grid{stroke:var(--line);stroke-width:1}
.chart .absent{fill:none;stroke:var(--edge);stroke-dasharray:2 4}
.chart .unnoticed{fill:var(--unnoticed)}
.chart .cloudfence{fill:var(--cloudfence)}
.chart .kubernetes{fill:var(--kubernetes)}
.chart .alone,.patterns .alone{fill:var(--alone)}
.chart .open-end{fill:url(#open-end);stroke:var(--alone)}
.chart .funnel{fill:var(--cloudfence);opacity:.1}
.chart .paper{fill:var(--card)}
`;

export const pageStyle = `${colors}
:root{color-scheme:light dark}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 ${FONT};overflow-wrap:anywhere}
a{color:var(--link);text-underline-offset:2px}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:.5rem;background:var(--card);padding:.5rem 1rem;z-index:1}
header,main,footer{max-width:1080px;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.25rem}
.brand{margin:0;color:var(--soft);font-size:.8rem;font-weight:600;letter-spacing:.08em;text-transform:uppercase}
h1{margin:.1rem 0 .35rem;font-size:clamp(1.5rem,1.1rem + 2vw,2.1rem);line-height:1.2;letter-spacing:-.015em}
h2{margin:2.5rem 0 .75rem;font-size:1.25rem;line-height:1.3}
h3,.top h2{margin:0;font-size:1.15rem;line-height:1.35}
h4{margin:1.75rem 0 .5rem;font-size:.95rem}
p{margin:.5rem 0}
.lead{color:var(--soft);max-width:46rem}
.soft,small{color:var(--soft)}
small{font-size:.85rem}
code,.id{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.85em}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:1.25rem;margin:1rem 0}
.incident{scroll-margin-top:1rem;padding:1.5rem}
.top{display:flex;flex-wrap:wrap;gap:.5rem .75rem;align-items:center;justify-content:space-between}
.chip{display:inline-block;white-space:nowrap;border-radius:99px;padding:.1rem .65rem;font-size:.8rem;font-weight:600;background:var(--calm-ground);color:var(--calm)}
.chip.good{background:var(--good-ground);color:var(--good)}
.chip.bad{background:var(--bad-ground);color:var(--bad)}
.chip.warn{background:var(--warn-ground);color:var(--warn)}
.chip.blue{background:var(--blue-ground);color:var(--blue)}
.notice{border-left:4px solid var(--unnoticed)}
.notice h2{margin-top:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.25rem,1fr));gap:.75rem;margin:1rem 0;padding:0;list-style:none}
.tiles li{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:.8rem 1rem}
.card .tiles li{background:var(--ground);border-color:transparent}
.tiles b{display:block;white-space:nowrap;font-size:1.45rem;line-height:1.3;font-weight:650;letter-spacing:-.01em;font-variant-numeric:tabular-nums}
.tiles span{color:var(--soft);font-size:.85rem;line-height:1.35;display:block}
.story{font-size:1.03rem;max-width:50rem}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:.6rem 1.5rem;margin:1.1rem 0 0}
.facts div{min-width:0}
.facts dt{color:var(--soft);font-size:.8rem}
.facts dd{margin:0;font-size:.92rem}
figure{margin:1.5rem 0 0}
figcaption{color:var(--soft);font-size:.85rem;margin-top:.5rem;max-width:50rem}
.chart{display:block;width:100%;height:auto;max-width:960px}
.chart.narrow{display:none;max-width:440px}
.patterns{position:absolute}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.25rem;list-style:none;margin:.9rem 0 0;padding:0;font-size:.85rem;color:var(--soft)}
.legend li{display:flex;align-items:center;gap:.45rem}
.legend svg{flex:none}
.swatch.unnoticed{fill:var(--unnoticed)}.swatch.cloudfence{fill:var(--cloudfence)}.swatch.kubernetes{fill:var(--kubernetes)}.swatch.alone{fill:var(--alone)}
table{width:100%;border-collapse:collapse;font-size:.9rem;overflow-wrap:break-word}
td .id,td bdi,th bdi{overflow-wrap:anywhere}
caption{text-align:left;color:var(--soft);font-size:.85rem;padding-bottom:.4rem}
th,td{text-align:left;vertical-align:top;padding:.5rem .75rem .5rem 0;border-top:1px solid var(--line);font-weight:400}
thead th{border-top:0;color:var(--soft);font-size:.8rem;vertical-align:bottom}
tbody th{font-weight:600}
td:last-child,th:last-child{padding-right:0}
.list tbody th{width:48%}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.time{font-variant-numeric:tabular-nums}
.why{display:block;color:var(--soft);font-weight:400}
.spread{display:block;width:100%;min-width:3rem;height:14px}
.spread .rail{stroke:var(--line);stroke-width:2}
.spread .most{fill:var(--kubernetes);opacity:.45}
.spread .half{fill:var(--kubernetes)}
details{border-top:1px solid var(--line);margin-top:1rem;padding-top:.25rem}
details+details{margin-top:0}
summary{cursor:pointer;font-weight:600;font-size:.95rem;padding:.6rem 0}
summary .soft{font-weight:400}
.evidence{display:grid;grid-template-columns:minmax(6rem,max-content) minmax(0,1fr);gap:.15rem 1rem;margin:.25rem 0 0;font-size:.85rem}
.evidence dt{color:var(--soft)}
.evidence dd{margin:0}
ul.plain{padding-left:1.1rem;margin:.4rem 0;font-size:.92rem}
:target{scroll-margin-top:1rem}
tr:target>*,li:target{background:var(--blue-ground)}
footer{padding:1.5rem 1.25rem 3rem;color:var(--soft);font-size:.85rem}
@media screen and (max-width:740px){
header,main,footer{padding-left:.75rem;padding-right:.75rem}
header{padding-top:1.25rem}
.card,.incident{padding:1rem .85rem}
.chart.wide{display:none}.chart.narrow{display:block}
th,td{padding-right:.5rem}
.wide-only{display:none}
.evidence{grid-template-columns:6.5rem minmax(0,1fr)}
.tiles b{font-size:1.15rem}
}
@media print{
@page{margin:14mm}
body{background:#fff;font-size:10.5pt}
header,main,footer{max-width:none;padding-left:0;padding-right:0}
.card,.incident{border:0;padding:0;border-radius:0}
.incident{break-before:page;margin-top:0}
.incident:first-of-type{break-before:auto}
.chart.wide{display:block;max-width:100%}.chart.narrow{display:none}
.skip{display:none}
figure,tr,li,.tiles{break-inside:avoid}
h2,h3,h4,summary{break-after:avoid}
details::details-content{content-visibility:visible;height:auto}
a{color:inherit}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}`;
