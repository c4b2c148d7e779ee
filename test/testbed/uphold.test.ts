import { expect, it } from 'vitest';
import { uphold } from './uphold.ts';

it('restarts what has ended by itself, as often as that happens, and does not restart what was killed', async () => {
  const ends = ['by itself', 'killed', 'by itself'] as const;
  let begun = 0;
  const begin = () => ({ exit: Promise.resolve(ends[begun++] ?? 'killed') });
  await uphold({ exit: Promise.resolve('by itself') }, begin, 0);
  expect(begun).toBe(2);
});
