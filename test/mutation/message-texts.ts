import type { Ignorer } from '@stryker-mutator/api/ignore';

/** A part of Babel's path to a piece of the mutated code. */
interface Path {
  readonly node: {
    readonly type: string;
    readonly value?: unknown;
    readonly quasis?: readonly { readonly value: { readonly raw: string } }[];
  };
}

const textOf = ({ node: { type, value, quasis = [] } }: Path): string => {
  if (type === 'StringLiteral') return String(value);
  return type === 'TemplateLiteral' ? quasis.map((quasi) => quasi.value.raw).join('') : '';
};

/**
 * Omits texts for people: those with a space. Their words have no effect, and tests quote only the few that matter. A
 * text without a space is a code, a key, or a state, and is mutated.
 */
export const messageTexts: Ignorer = {
  shouldIgnore: (path: Path) => (textOf(path).includes(' ') ? 'a text that people read' : undefined),
};
