import { randomUUID } from 'node:crypto';

/** Names one run, and so the fences that it begins. */
export const newRunId = (): string => randomUUID();
