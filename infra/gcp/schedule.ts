import type { Resource } from './ensure.ts';
import { seconds, type Install } from './install.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const cron = (every: number): string => (every === HOUR ? '0 * * * *' : `*/${every / MINUTE} * * * *`);

/** A sweep that fails is not tried again: the next one comes soon enough. */
export const schedule = ({ names, parameters }: Install, uri: string): Resource => {
  const wanted = {
    schedule: cron(parameters.sweepEvery),
    timeZone: 'Etc/UTC',
    attemptDeadline: seconds(Math.max(15_000, parameters.timeout)),
    httpTarget: { uri, httpMethod: 'POST', oidcToken: { serviceAccountEmail: names.caller, audience: names.address('sweep') } },
  };
  const body = { name: names.job, description: 'Finds what no event told', ...wanted };
  return {
    what: `schedule ${names.job}`,
    host: 'scheduler',
    path: `v1/${names.job}`,
    wanted,
    namesAccount: true,
    create: { method: 'POST', path: `v1/${names.region}/jobs`, body },
    change: { method: 'PATCH', path: `v1/${names.job}?updateMask=schedule,timeZone,attemptDeadline,httpTarget`, body },
  };
};
