import { z } from 'zod';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { Api, Host } from './api.ts';

const BETWEEN_MS = 2_000;
const operation = z.object({ name: z.string().min(1), done: z.boolean().default(false), error: z.object({ message: z.string() }).optional() });

/** A build takes a minute or two. https://cloud.google.com/functions/docs/reference/rest/v2/projects.locations.operations */
const POLLS = 300;

/** Where an operation is asked about. */
interface Place {
  readonly host: Host;
  readonly version: string;
}

const OF_FUNCTIONS: Place = { host: 'functions', version: 'v2' };

/** @throws Unavailable when it fails, with what it says, or takes ten minutes */
export const finished = async (api: Api, begun: unknown, what: string, { host, version } = OF_FUNCTIONS): Promise<void> => {
  let current = operation.parse(begun);
  for (let polls = 0; !current.done && polls < POLLS; polls += 1) {
    await api.wait(BETWEEN_MS);
    current = operation.parse(await api.call({ method: 'GET', host, path: `${version}/${current.name}` }));
  }
  if (current.error) throw new Unavailable(`${what} failed: ${current.error.message}`);
  if (!current.done) throw new Unavailable(`${what} is not done after ten minutes`);
};
