/**
 * Text for HTML, SVG, and Markdown. Names and evidence come from tenants, so whatever is not written in this room is
 * escaped, and no character can change the direction or the order of what people read.
 */

const content = Symbol('markup');

/** A text that is markup already. Nothing that was read from an incident can be one. */
export interface Markup {
  readonly [content]: string;
}

export type Part = string | number | Markup | null | readonly Part[];

/** Longer than any name of Kubernetes or of a cloud (characters). The report as JSON has the whole text. */
const LONGEST = 600;

/**
 * Control characters, and invisible characters that reverse or hide the text beside them. Joiners stay: languages need
 * them.
 */
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu;

const shown = (character: string): string =>
  /[\t\n\r]/.test(character)
    ? ' '
    : `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`;

/** Returns a text in which every character can be seen, and which is not too long to be read. */
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

const markupOf = (part: Part): string => {
  if (part === null) return '';
  if (typeof part === 'string') return escaped(part);
  if (typeof part === 'number') return String(part);
  return content in part ? part[content] : part.map(markupOf).join('');
};

/** A template for HTML and SVG. The text is markup, and each value in it is escaped. Attributes need quotes. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup => ({
  [content]: strings.map((text, index) => text + markupOf(parts[index] ?? null)).join(''),
});

/** Returns text of this room, such as a style sheet, as it is. Never give it anything that was read. */
export const ownText = (text: string): Markup => ({ [content]: text });

/** Returns a style sheet of this room as an element, without a space around it: the page's policy names its hash. */
export const styleElement = (css: string): Markup => ownText(`<style>${css}</style>`);

export const textOf = (markup: Markup): string => markup[content];

/** A name from an incident. Its direction does not change that of the text around it. */
export const name = (text: string): Markup => html`<bdi>${text}</bdi>`;

/** Returns a text for Markdown, also for a cell of a table. */
export const plain = (text: string): string =>
  makeVisible(text)
    .replaceAll(/[\\`*_[\]<>|~#]/g, (one) => `\\${one}`)
    .replaceAll('&', '&amp;')
    .replaceAll('://', ':\\//');
