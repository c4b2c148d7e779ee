/**
 * Escaped text for HTML, SVG, and Markdown. Tenants write names and evidence. So all text that does not come from this
 * directory is escaped, and no character can change the direction or the order of the text.
 */

const content = Symbol('markup');

/** A text that is already markup. Text from an incident never has this type. */
export interface Markup {
  readonly [content]: string;
}

export type Part = string | number | Markup | null | readonly Part[];

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

const markupOf = (part: Part): string => {
  if (part === null) return '';
  if (typeof part === 'string') return escaped(part);
  if (typeof part === 'number') return String(part);
  return content in part ? part[content] : part.map(markupOf).join('');
};

/**
 * A template for HTML and SVG. The template text is markup, and each inserted value is escaped. Attributes need quotes.
 */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup => ({
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
