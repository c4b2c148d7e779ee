import type { TimeLimit } from '../invocation.ts';
import type { Answering } from './http.ts';
import type { GcpWiring } from './wire.ts';

/** What a person sends is JSON, and so is the answer. Cloud Run lets in those only who may invoke; nobody pushes here. */
export const answering =
  <Answer extends object>(wired: () => Promise<GcpWiring>, answer: (asked: unknown, wiring: GcpWiring, limit: TimeLimit) => Promise<Answer>, statusOf: (answer: Answer) => number = () => 200): Answering =>
  async ({ body }, limit) => {
    const said = await answer(body, await wired(), limit);
    return { status: statusOf(said), body: said };
  };
