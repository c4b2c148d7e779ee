import { z } from 'zod';
import { createHash } from 'node:crypto';
import { PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import type { ReportProgress } from '../serverless/deployer.ts';
import { errorFromResponse, type Arm } from './arm.ts';
import { PACKAGE } from './install.ts';
import type { FunctionApp } from './names.ts';

/**
 * Uploads the app's package to the app's own deployment endpoint, which puts it into the container.
 * https://learn.microsoft.com/azure/azure-functions/functions-deployment-technologies
 */

/** Hashes the package with its container, because a package in another container is not published yet. */
export const packageHash = ({ containerUrl }: Pick<FunctionApp, 'containerUrl'>, zip: Buffer): string =>
  createHash('sha256').update(`${containerUrl}\n`).update(zip).digest('hex');

const progress = z.object({ status: z.int(), status_text: z.string().nullish() });
/**
 * Status codes of a deployment.
 * https://github.com/projectkudu/kudu/wiki/REST-API
 */
const SUCCEEDED = 4;
const FAILED: readonly number[] = [-1, 3, 5, 6];
const BETWEEN_MS = 2_000;
const TIMES = 150;

const untilPublished = async (arm: Arm, scmHost: string, id: string): Promise<void> => {
  const call = { method: 'GET', path: `https://${scmHost}/api/deployments/${id}` } as const;
  let seen = false;
  for (let times = 0; times < TIMES; times += 1) {
    await arm.wait(BETWEEN_MS);
    const answer = await arm.ask(call);
    // The worker that reports the deployment starts late, and stops once the deployment is done.
    if (answer.status === 404 && !seen) continue;
    if (answer.status === 404) return;
    if (answer.status !== 200 && answer.status !== 202) throw errorFromResponse(call, answer);
    const { status, status_text: why } = progress.parse(answer.body);
    seen = true;
    if (status === SUCCEEDED) return;
    if (FAILED.includes(status)) throw new Refused(`Azure rejected the package: ${why ?? `status ${status}`}`);
  }
  throw new Unavailable('Azure did not confirm the package within five minutes');
};

const publishOnce = async (arm: Arm, scmHost: string, zip: Buffer): Promise<void> => {
  const { body } = await arm.call({ method: 'POST', path: `https://${scmHost}/api/publish`, body: zip });
  await untilPublished(arm, scmHost, z.string().min(1).parse(body));
};

/**
 * The time that Azure gives for a new role to take effect everywhere.
 * https://learn.microsoft.com/azure/role-based-access-control/troubleshooting
 */
const ROLE_SPREADS_MS = 600_000;
const RETRY_AFTER_MS = 20_000;

/**
 * Publishes the package, and tries again while the app is refused. The endpoint writes the package with the app's
 * identity, whose role can be minutes old and not yet in effect. The endpoint is then denied, or it accepts the package
 * and fails. Neither case has an error code of its own, so a refusal counts only if it lasts.
 */
const publishUntilAccepted = async (arm: Arm, scmHost: string, zip: Buffer, say: ReportProgress): Promise<void> => {
  for (let waited = 0; ; waited += RETRY_AFTER_MS) {
    try {
      return await publishOnce(arm, scmHost, zip);
    } catch (error) {
      if (!(error instanceof PermissionDenied || error instanceof Refused) || waited >= ROLE_SPREADS_MS) throw error;
      say(`package: not accepted yet, trying again in ${RETRY_AFTER_MS / 1_000} s: ${error.message}`);
      await arm.wait(RETRY_AFTER_MS);
    }
  }
};

export const publishPackage = async (
  arm: Arm,
  app: FunctionApp,
  scmHost: string,
  zip: Buffer,
  say: ReportProgress,
): Promise<void> => {
  await publishUntilAccepted(arm, scmHost, zip, say);
  const tags = { [PACKAGE]: packageHash(app, zip) };
  await arm.call({
    method: 'PATCH',
    path: `${app.siteId}/providers/Microsoft.Resources/tags/default?api-version=2021-04-01`,
    body: { operation: 'Merge', properties: { tags } },
  });
};
