import type { TimeLimit } from '../invocation.ts';
import type { Answering } from './http.ts';
import type { GcpWiring } from './wire.ts';

/** What a person sends is JSON, and so is the answer. Cloud Run lets in those only who may invoke; nobody pushes here. */
export const answering =
  (wired: () => Promise<GcpWiring>, answer: (asked: unknown, wiring: GcpWiring, limit: TimeLimit) => Promise<object>): Answering =>
  async ({ body }, limit) => ({ status: 200, body: await answer(body, await wired(), limit) });
