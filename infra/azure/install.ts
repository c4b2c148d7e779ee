import { z } from 'zod';
import { durationSchema } from '../../config/schema.ts';
import type { RawParameters } from '../serverless/deployer.ts';
import * as install from '../serverless/install-check.ts';
import { type AppName, resourceNames, type ResourceNames } from './names.ts';

/**
 * The parameters in infra/azure/parameters.yml and in a stage's file, apart from the configuration of the functions.
 */

const MINUTE = 60_000;

const between = (least: number, most: number, words: string) =>
  durationSchema.refine((ms) => ms >= least && ms <= most, `must be from ${words}`);

/**
 * Matches the id of a resource. Azure ignores letter case in types.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
 */
const resource = (type: string, what: string) =>
  z
    .string()
    .regex(
      new RegExp(`^/subscriptions/[0-9a-f-]{36}/resourceGroups/[^/]+/providers/${type}/[^/]+$`, 'i'),
      `is not the resource id of ${what}`,
    );

const group = z.string().regex(/^[-\w.()]{0,89}[-\w()]$/, 'is not the name of a resource group');

/** An explicit value, so that leaving out the parameter never means the whole subscription. */
export const WHOLE_SUBSCRIPTION = 'all-of-subscription';

const WHICH_GROUPS = `list the resource groups with the machines and disks that Cloudfence may read and change (for AKS, the node resource group), or write ${WHOLE_SUBSCRIPTION}`;

const resourceGroups = z.union([z.literal(WHOLE_SUBSCRIPTION), z.array(group).min(1, WHICH_GROUPS)], {
  error: WHICH_GROUPS,
});

/** Someone else's system topic does not have the install's identity, and the install must not assign it one. */
const NEEDS_KEYS =
  'Event Grid delivers from an existing topic only with keys: set keylessDelivery to false when you set systemTopic';

export const azureParameters = z
  .strictObject({
    subscription: z.guid('is not a subscription id: write the id of the subscription to deploy into'),
    location: z.string().regex(/^[a-z]+[a-z0-9]*$/, 'is not a location: write one such as westeurope'),
    resourceGroups,
    keyVaults: z.array(resource('Microsoft.KeyVault/vaults', 'a Key Vault')),
    systemTopic: resource('Microsoft.EventGrid/systemTopics', 'a system topic').nullable(),
    health: z.boolean(),
    keylessDelivery: z.boolean(),
    node: z.literal([22, 24]),
    sweepEvery: between(MINUTE, 60 * MINUTE, '1m to 60m').refine(
      (ms) => 60 % (ms / MINUTE) === 0,
      'must be whole minutes that divide an hour',
    ),
    maximumInstances: z.int().min(40).max(1_000),
    timeout: between(10_000, 4 * MINUTE, '10s to 4m').refine((ms) => ms % 1_000 === 0, 'must be whole seconds'),
    memory: z.literal([512, 2_048, 4_096]),
    subnet: resource('Microsoft.Network/virtualNetworks/[^/]+/subnets', 'a subnet').nullable(),
    incidentDays: z.int().min(1).max(3_650),
    incidentTopic: resource('Microsoft.EventGrid/topics', 'an Event Grid topic').nullable(),
    logDays: z.int().min(30).max(730),
    actionGroup: resource('Microsoft.Insights/actionGroups', 'an action group').nullable(),
  })
  .refine(({ systemTopic, keylessDelivery }) => systemTopic === null || !keylessDelivery, {
    path: ['keylessDelivery'],
    message: NEEDS_KEYS,
  });

export type AzureParameters = z.infer<typeof azureParameters>;

export type CheckedInstall = install.CheckedInstall<AzureParameters>;

/** A storage account's name has at most 24 characters, which leaves 14 for the stage. */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage) && !stage.endsWith('-')
    ? []
    : [
        `stage: "${stage}" must begin with a letter, must not end with a hyphen, and can have at most 14 lowercase letters, digits, and hyphens`,
      ];

const rules: install.InstallRules<AzureParameters> = {
  cloud: 'azure',
  parameters: azureParameters,
  stageFaults,
  isReachable: (cluster) => 'aks' in cluster || 'keyVault' in cluster,
  waysIn: 'a function on Azure requires `aks`, which finds a cluster, or `keyVault`, which contains a kubeconfig',
};

/** Checks the install and returns all faults together. */
export const checkInstall = (stage: string, written: RawParameters) => install.checkInstall(rules, stage, written);

/** The complete description of an install before it is deployed. */
export interface Install extends CheckedInstall {
  readonly prefix: string;
  readonly names: ResourceNames;
  /** The hash of the package that each app runs, or null before the first one. A tag stores it. */
  readonly published: Readonly<Record<AppName, string | null>>;
}

export const noPackages: Install['published'] = { app: null, door: null };

export const createInstall = (prefix: string, checked: CheckedInstall): Install => ({
  ...checked,
  prefix,
  names: resourceNames({ subscription: checked.parameters.subscription, prefix }),
  published: noPackages,
});

/** This tag marks the resources of an install. */
export const INSTALL_TAG = 'cloudfence';
export const PACKAGE = 'cloudfence-package';

export const resourceTags = ({ prefix }: Pick<Install, 'prefix'>): Readonly<Record<string, string>> => ({
  [INSTALL_TAG]: prefix,
});
