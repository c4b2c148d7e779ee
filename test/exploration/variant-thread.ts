import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import { importEdited } from './edited-modules.ts';
import type { Explored } from './search.ts';
import type { VariantAnswer } from './try-variant.ts';
import type { Variant } from './unsafe-variants.ts';

/** A thread that explores variants of the shipped code, one after the other. */

const MOST_STATES = 1_500_000;
/**
 * A search for a world that does not recover first visits all states, and then judges their worlds, nearest first. The
 * worlds that do not recover are near, so a part of the states is enough, and the story is the same.
 */
const MOST_STATES_OF_RECOVERY = 50_000;
const NAMED = fileURLToPath(new URL('named.ts', import.meta.url));

interface Named {
  readonly exploreNamed: (name: string, most: number) => Explored;
}

const isNamed = (module: unknown): module is Named =>
  typeof module === 'object' && module !== null && 'exploreNamed' in module;

const explored = async ({ edits, scenario, breaks }: Variant): Promise<Explored> => {
  const module = await importEdited(NAMED, edits);
  if (!isNamed(module)) throw new Error(`${NAMED} exports no exploreNamed`);
  return module.exploreNamed(scenario, breaks === 'recovery' ? MOST_STATES_OF_RECOVERY : MOST_STATES);
};

const answer = async (variant: Variant): Promise<VariantAnswer> => {
  try {
    return { found: await explored(variant) };
  } catch (error) {
    return { error };
  }
};

parentPort?.on('message', (variant: Variant) => {
  // A thread of this process has no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  void answer(variant).then((says) => parentPort?.postMessage(says));
});
