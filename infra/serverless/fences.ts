import { z } from 'zod';

/** The question that a removal asks the function doctor first, and what it says of the answer: on every cloud the same. */

export const QUESTION = { question: 'fences' } as const;

const answer = z.object({ fences: z.array(z.looseObject({ cluster: z.string(), node: z.string() })) });

export type Fences = z.infer<typeof answer>['fences'];

export const fencesIn = (said: unknown): Fences => answer.parse(said).fences;

const inWords = (fences: Fences): string => fences.map(({ cluster, node }) => `  - Node ${node} of ${cluster}`).join('\n');

export const standingInWords = (fences: Fences): string => `fences stand.\n${inWords(fences)}\nTake them back with \`cloudfence release --all\`, then remove again.`;

export const refusal = (reason: string): string => `nothing was removed: ${reason}\nTo remove Cloudfence all the same, give --force-remove.`;

export const FORCED = 'Fences that stand, if any, are left as they are: --force-remove.';

export const forceRemove = { usage: 'Remove although fences stand, or although nobody can say whether any do', type: 'boolean' };
