import { z } from 'zod';
import { Refused } from '../../fencing/model/errors.ts';
import type { Arm } from './arm.ts';
import { WEB_API } from './hosting.ts';
import { PACKAGE } from './install.ts';
import type { App } from './names.ts';

/** The app as it stands. Nothing of it is taken from what a deployment once said: that is gone when its history is. */

const site = z.object({
  tags: z.record(z.string(), z.string()).nullish(),
  properties: z.object({
    state: z.string().default('unknown'),
    defaultHostName: z.string().min(1),
    hostNameSslStates: z.array(z.object({ name: z.string(), hostType: z.string() })).default([]),
  }),
});

export interface Site {
  /** The package that it runs, by its hash. */
  readonly published: string | null;
  readonly state: string;
  /** Where its functions are called. */
  readonly host: string;
  /** Host of the door for packages. */
  readonly door: string | null;
}

/** Null when ARM says that there is none. @throws CloudfenceError for any doubt */
export const readSite = async (arm: Arm, { site: name, siteId }: Pick<App, 'site' | 'siteId'>): Promise<Site | null> => {
  const answer = await arm.find({ method: 'GET', path: `${siteId}?api-version=${WEB_API}` });
  if (answer === null) return null;
  const read = site.safeParse(answer.body);
  if (!read.success) throw new Refused(`the app ${name} is described as no app is`, { cause: read.error });
  const { tags, properties } = read.data;
  const door = properties.hostNameSslStates.find(({ hostType }) => hostType === 'Repository');
  return { published: tags?.[PACKAGE] ?? null, state: properties.state, host: properties.defaultHostName, door: door?.name ?? null };
};
