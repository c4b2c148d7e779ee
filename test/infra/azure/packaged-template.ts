import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { TemplateResource } from '../../../infra/azure/arm.ts';
import { checkInstall, type Install, createInstall } from '../../../infra/azure/install.ts';
import { installTemplate } from '../../../infra/azure/deployment.ts';
import { nested } from './subscription.ts';

const defaults = z
  .record(z.string(), z.unknown())
  .parse(parse(readFileSync(new URL('../../../infra/azure/parameters.yml', import.meta.url), 'utf8')));

export const installFor = (stage: string, written: object): Install => {
  const { faults, install } = checkInstall(stage, { ...defaults, ...written });
  if (install === null) throw new Error(faults.join('\n'));
  return createInstall(`cloudfence-${stage}`, install);
};

/** A resource, and the group into which it is deployed. Null for the subscription. */
export interface Placed extends TemplateResource {
  readonly group: string | null;
}

const placedIn = (resources: readonly TemplateResource[], group: string | null): readonly Placed[] =>
  resources.flatMap((one) => {
    if (one.type !== 'Microsoft.Resources/deployments') return [{ ...one, group }];
    const { template } = nested.parse(one.properties);
    return placedIn(template.resources, one.resourceGroup ?? group);
  });

export const placedFor = (stage: string, written: object): readonly Placed[] =>
  placedIn(installTemplate(installFor(stage, written)).resources, null);

export const ofType = (placed: readonly Placed[], type: string): readonly Placed[] =>
  placed.filter((one) => one.type === `Microsoft.${type}`);
