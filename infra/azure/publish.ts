import { z } from 'zod';
import { createHash } from 'node:crypto';
import { Refused, Unavailable } from '../../fencing/errors.ts';
import { failureOf, type Arm } from './arm.ts';
import { WEB_API } from './hosting.ts';
import { PACKAGE, type Install } from './install.ts';

/** The app's package: handed to the app's own door, which puts it into the container. https://learn.microsoft.com/azure/azure-functions/functions-deployment-technologies */

const site = z.object({
  tags: z.record(z.string(), z.string()).nullish(),
  properties: z.object({ state: z.string().default('unknown'), hostNameSslStates: z.array(z.object({ name: z.string(), hostType: z.string() })).default([]) }),
});

export interface Site {
  /** The package that it runs, by its hash. */
  readonly published: string | null;
  readonly state: string;
  /** Host of the door for packages. */
  readonly door: string | null;
}

/** Null when there is none. */
export const readSite = async (arm: Arm, { names }: Install): Promise<Site | null> => {
  const call = { method: 'GET', path: `${names.siteId}?api-version=${WEB_API}` } as const;
  const answer = await arm.ask(call);
  if (answer.status === 404) return null;
  if (answer.status !== 200) throw failureOf(call, answer);
  const { tags, properties } = site.parse(answer.body);
  const door = properties.hostNameSslStates.find(({ hostType }) => hostType === 'Repository');
  return { published: tags?.[PACKAGE] ?? null, state: properties.state, door: door?.name ?? null };
};

export const hashOf = (zip: Buffer): string => createHash('sha256').update(zip).digest('hex');

const progress = z.object({ status: z.int(), status_text: z.string().nullish() });
/** https://github.com/projectkudu/kudu/wiki/REST-API */
const SUCCEEDED = 4;
const FAILED: readonly number[] = [-1, 3, 5, 6];
const BETWEEN_MS = 2_000;
const TIMES = 150;

const untilPublished = async (arm: Arm, door: string, id: string): Promise<void> => {
  const call = { method: 'GET', path: `https://${door}/api/deployments/${id}` } as const;
  let seen = false;
  for (let times = 0; times < TIMES; times += 1) {
    await arm.wait(BETWEEN_MS);
    const answer = await arm.ask(call);
    // The worker that knows of it comes late, and goes once it is done.
    if (answer.status === 404 && !seen) continue;
    if (answer.status === 404) return;
    if (answer.status !== 200 && answer.status !== 202) throw failureOf(call, answer);
    const { status, status_text: why } = progress.parse(answer.body);
    seen = true;
    if (status === SUCCEEDED) return;
    if (FAILED.includes(status)) throw new Refused(`the package was not taken: ${why ?? `status ${status}`}`);
  }
  throw new Unavailable('nobody said within five minutes that the package was taken');
};

export const publish = async (arm: Arm, install: Install, door: string, zip: Buffer): Promise<void> => {
  const { body } = await arm.call({ method: 'POST', path: `https://${door}/api/publish`, body: zip });
  await untilPublished(arm, door, z.string().min(1).parse(body));
  const tags = { [PACKAGE]: hashOf(zip) };
  await arm.call({ method: 'PATCH', path: `${install.names.siteId}/providers/Microsoft.Resources/tags/default?api-version=2021-04-01`, body: { operation: 'Merge', properties: { tags } } });
};
