import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Explored } from './search.ts';
import type { Variant } from './unsafe-variants.ts';

export interface VariantThread {
  /** Explores the variant, after those that came before it. */
  readonly explore: (variant: Variant) => Promise<Explored>;
  readonly close: () => Promise<unknown>;
}

/** What the thread answers. */
export type VariantAnswer = { readonly found: Explored } | { readonly error: unknown };

/**
 * Starts a thread for variants. One thread explores them all, because loading the libraries takes longer than most
 * explorations.
 */
export const openVariantThread = (): VariantThread => {
  const worker = new Worker(new URL('variant-thread.ts', import.meta.url));
  const explore = async (variant: Variant): Promise<Explored> => {
    const answered: Promise<readonly VariantAnswer[]> = once(worker, 'message');
    // A thread of this process has no origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage(variant);
    const [answer] = await answered;
    if (!answer || 'error' in answer)
      throw new Error(`the variant cannot be explored: ${variant.says}`, { cause: answer?.error });
    return answer.found;
  };
  return { explore, close: () => worker.terminate() };
};
