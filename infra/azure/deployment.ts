import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DEPLOYMENTS_API } from './arm-template.ts';
import { failureOf, type Arm } from './arm.ts';
import type { Install } from './install.ts';
import { carriedOut } from './operation.ts';
import { templateOf } from './template.ts';

const pathOf = ({ names }: Install, verb = ''): string => `${names.scope}/providers/Microsoft.Resources/deployments/${names.deployment}${verb}?api-version=${DEPLOYMENTS_API}`;

/** What was last asked for, beside the app's package. Kept as a tag of the deployment. */
const TEMPLATE = 'cloudfence-template';
const hashOf = (install: Install): string => createHash('sha256').update(JSON.stringify(templateOf({ ...install, published: null }))).digest('hex');

const orderOf = (install: Install) => ({ location: install.parameters.location, tags: { [TEMPLATE]: hashOf(install) }, properties: { mode: 'Incremental', template: templateOf(install) } });

const deployed = z.object({ tags: z.record(z.string(), z.string()).nullish(), properties: z.object({ outputs: z.record(z.string(), z.object({ value: z.string() })).default({}) }) });

export interface Outputs {
  /** Where functions are called. */
  readonly host: string | null;
  /** Id by which logs are asked for. */
  readonly workspace: string | null;
  /** Of the functions' identity, as Entra ID knows it. */
  readonly principal: string | null;
  /** Whether it was of this very template. */
  readonly isThisOne: boolean;
}

/** Null when nothing was ever deployed. */
export const lastDeployment = async (arm: Arm, install: Install): Promise<Outputs | null> => {
  const answer = await arm.ask({ method: 'GET', path: pathOf(install) });
  if (answer.status === 404) return null;
  if (answer.status !== 200) throw failureOf({ method: 'GET', path: pathOf(install) }, answer);
  const { tags, properties } = deployed.parse(answer.body);
  const { outputs } = properties;
  return { host: outputs['host']?.value ?? null, workspace: outputs['workspace']?.value ?? null, principal: outputs['principal']?.value ?? null, isThisOne: tags?.[TEMPLATE] === hashOf(install) };
};

/** https://learn.microsoft.com/rest/api/resources/deployments/create-or-update-at-subscription-scope */
export const applyTemplate = async (arm: Arm, install: Install): Promise<void> => {
  await carriedOut(arm, { method: 'PUT', path: pathOf(install), body: orderOf(install) });
};

const change = z.object({ resourceId: z.string(), changeType: z.string(), delta: z.array(z.looseObject({ path: z.string() })).nullish() });
const changes = z.object({ properties: z.object({ changes: z.array(change).default([]) }) });

export type Change = z.infer<typeof change>;

const UNCHANGED: ReadonlySet<string> = new Set(['NoChange', 'Ignore', 'NoEffect']);

/** What a deployment would change. https://learn.microsoft.com/rest/api/resources/deployments/what-if-at-subscription-scope */
export const previewed = async (arm: Arm, install: Install): Promise<readonly Change[]> => {
  const answer = await carriedOut(arm, { method: 'POST', path: pathOf(install, '/whatIf'), body: orderOf(install) });
  return changes.parse(answer.body).properties.changes.filter(({ changeType }) => !UNCHANGED.has(changeType));
};

/** The note of it alone; what it made is removed by other means. */
export const forgetDeployment = async (arm: Arm, install: Install): Promise<void> => {
  const answer = await arm.ask({ method: 'GET', path: pathOf(install) });
  if (answer.status !== 404) await carriedOut(arm, { method: 'DELETE', path: pathOf(install) });
};
