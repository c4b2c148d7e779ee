import { z } from 'zod';
import { nonEmptyText } from '../../fencing/model/foreign-text.ts';
import type { ReportProgress } from '../serverless/deployer.ts';
import { type Api, type ApiCall, errorFromResponse, isSuccess, retryUntilFinal } from './api.ts';
import { hasAllWanted } from './ensure.ts';
import type { Install } from './install.ts';
import { alertPolicies, type AlertPolicy } from './monitoring.ts';

/**
 * Manages alert policies. Cloud Monitoring chooses their names, so Cloudfence finds its own by their labels, and never
 * touches a policy without them.
 */

const existingPolicy = z.looseObject({
  name: nonEmptyText,
  displayName: z.string().default(''),
  userLabels: z.record(z.string(), z.string()).default({}),
});
const page = z.looseObject({
  alertPolicies: z.array(existingPolicy).default([]),
  nextPageToken: z.string().default(''),
});

type ExistingPolicy = z.infer<typeof existingPolicy>;

const OWN_FIELDS = [
  'displayName',
  'userLabels',
  'documentation',
  'severity',
  'combiner',
  'conditions',
  'notificationChannels',
].join(',');
/** "If a metric was created recently, it could take up to 10 minutes to become available." */
const METRIC_APPEARS_MS = 15 * 60_000;

const listOwnPolicies = async (api: Api, { names, prefix }: Install): Promise<readonly ExistingPolicy[]> => {
  const all: ExistingPolicy[] = [];
  for (let token = ''; ;) {
    const query = new URLSearchParams({ pageSize: '500', ...(token !== '' && { pageToken: token }) });
    const { alertPolicies, nextPageToken } = page.parse(
      await api.call({
        method: 'GET',
        host: 'monitoring',
        path: `v3/${names.project}/alertPolicies?${query.toString()}`,
      }),
    );
    all.push(...alertPolicies);
    if (nextPageToken === '' || nextPageToken === token)
      return all.filter(({ userLabels }) => userLabels['cloudfence'] === prefix);
    token = nextPageToken;
  }
};

const isOf =
  ({ userLabels: { alarm } }: AlertPolicy) =>
  ({ userLabels }: ExistingPolicy): boolean =>
    userLabels['alarm'] === alarm;

const createPolicy = async (api: Api, { names }: Install, wanted: AlertPolicy, say: ReportProgress): Promise<void> => {
  const call: ApiCall = { method: 'POST', host: 'monitoring', path: `v3/${names.project}/alertPolicies`, body: wanted };
  const answer = await retryUntilFinal(api, () => api.ask(call), {
    mayPass: ({ status }) => status === 404,
    within: METRIC_APPEARS_MS,
  });
  if (!isSuccess(answer)) throw errorFromResponse(call, answer);
  say(`alarm ${wanted.displayName}: created`);
};

const isAsWanted = (found: ExistingPolicy, wanted: AlertPolicy): boolean =>
  hasAllWanted(found, wanted) && ('notificationChannels' in wanted || !('notificationChannels' in found));

const updatePolicy = async (
  api: Api,
  { name }: ExistingPolicy,
  wanted: AlertPolicy,
  say: ReportProgress,
): Promise<void> => {
  await api.call({ method: 'PATCH', host: 'monitoring', path: `v3/${name}?updateMask=${OWN_FIELDS}`, body: wanted });
  say(`alarm ${wanted.displayName}: changed`);
};

const deletePolicy = async (api: Api, { name, displayName }: ExistingPolicy, say: ReportProgress): Promise<void> => {
  const call: ApiCall = { method: 'DELETE', host: 'monitoring', path: `v3/${name}` };
  const answer = await api.ask(call);
  if (!isSuccess(answer) && answer.status !== 404) throw errorFromResponse(call, answer);
  say(`alarm ${displayName}: removed`);
};

/** Creates each alarm of the table exactly once, and removes alarms that are no longer in it. */
export const ensureAlarms = async (api: Api, install: Install, say: ReportProgress): Promise<void> => {
  const there = await listOwnPolicies(api, install);
  const wanted = alertPolicies(install);
  const kept = wanted.flatMap((one) => there.find(isOf(one)) ?? []);
  for (const one of there) if (!kept.includes(one)) await deletePolicy(api, one, say);
  for (const one of wanted) {
    const found = there.find(isOf(one));
    if (!found) await createPolicy(api, install, one, say);
    else if (!isAsWanted(found, one)) await updatePolicy(api, found, one, say);
  }
};

export const removeAlarms = async (api: Api, install: Install, say: ReportProgress): Promise<void> => {
  for (const one of await listOwnPolicies(api, install)) await deletePolicy(api, one, say);
};
