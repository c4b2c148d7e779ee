import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { checkInstall, createInstall, hashedNaming } from '../../../infra/azure/install.ts';
import { releasedTemplate } from '../../../infra/azure/cloud.ts';
import { installTemplate } from '../../../infra/azure/deployment.ts';
import { parametersFromFile } from '../../../infra/serverless/deployer.ts';

/** The template of a release, with its expressions evaluated, has to be the template that a deployment sends. */

const defaults = parametersFromFile('.', 'infra/azure/parameters.yml');
const subscription = '11111111-2222-4333-8444-555555555555';
const settings = { clusters: [{ name: 'prod', aks: { resourceGroup: 'clusters', cluster: 'prod' } }] };

const installed = () => {
  const { install, faults } = checkInstall('prod', {
    ...defaults,
    ...settings,
    subscription,
    location: 'westeurope',
    resourceGroups: ['MC_prod'],
  });
  if (!install) throw new Error(faults.join('; '));
  return createInstall('cloudfence-prod', install);
};

/** The available ARM functions. Our own functions for names replace the hashes of ARM. */
const functions = (given: Readonly<Record<string, string>>) => ({
  concat: (...parts: readonly string[]) => parts.join(''),
  take: (text: string, count: number) => text.slice(0, count),
  replace: (text: string, what: string, by: string) => text.replaceAll(what, by),
  toLower: hashedNaming.lower,
  uniqueString: hashedNaming.short,
  guid: hashedNaming.guid,
  parameters: (name: string) => given[name],
  subscription: () => ({ subscriptionId: subscription }),
  reference: (id: string, api: string) =>
    new Proxy({}, { get: (_target, property) => `<${String(property)} of ${id} ${api}>` }),
});

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const workedOut = (value: unknown, given: Readonly<Record<string, string>>): unknown => {
  if (Array.isArray(value)) return value.map((one) => workedOut(one, given));
  if (isObject(value)) {
    const { parameters: _handedOn, ...rest } = value;
    return Object.fromEntries(
      Object.entries(rest).map(([key, inner]) => [String(workedOut(key, given)), workedOut(inner, given)]),
    );
  }
  if (typeof value !== 'string' || !value.startsWith('[') || value.startsWith('[[')) return value;
  // In a text of ARM, a backslash is an ordinary character.
  const literal = value.slice(1, -1).replaceAll('\\', String.raw`\\`);
  return runInNewContext(literal.replaceAll(/(?<=[^(,\s])''(?=[^),])/g, String.raw`\'`), functions(given));
};

it('is the template of a deployment with parameters', () => {
  const install = installed();
  const given = {
    stage: 'prod',
    location: 'westeurope',
    machineResourceGroup: 'MC_prod',
    aksResourceGroup: 'clusters',
    aksCluster: 'prod',
    settings: install.settings,
  };
  const { resources } = z.looseObject({ resources: z.array(z.unknown()) }).parse(releasedTemplate(defaults));
  expect(workedOut(resources, given)).toEqual(workedOut(installTemplate(install).resources, given));
});

it('declares in each nested template what that template uses', () => {
  const text = JSON.stringify(releasedTemplate(defaults));
  const declared = z.object({ parameters: z.record(z.string(), z.unknown()) }).parse(JSON.parse(text)).parameters;
  const used = new Set([...text.matchAll(/parameters\('(\w+)'\)/g)].map(([, name]) => name));
  expect(used).toEqual(new Set(Object.keys(declared)));
});
