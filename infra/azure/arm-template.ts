/**
 * Templates of Azure Resource Manager.
 * https://learn.microsoft.com/azure/azure-resource-manager/templates/syntax
 */

export interface TemplateResource {
  readonly type: string;
  readonly apiVersion: string;
  readonly name: string;
  readonly location?: string;
  readonly scope?: string;
  readonly dependsOn?: readonly string[];
  readonly resourceGroup?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly kind?: string;
  readonly sku?: object;
  readonly identity?: object;
  readonly properties?: object;
}

export interface Template {
  readonly $schema: string;
  readonly contentVersion: string;
  readonly resources: readonly TemplateResource[];
}

const SCHEMAS = 'https://schema.management.azure.com/schemas';
const GROUP = `${SCHEMAS}/2019-04-01/deploymentTemplate.json#`;
const SUBSCRIPTION = `${SCHEMAS}/2018-05-01/subscriptionDeploymentTemplate.json#`;

export const DEPLOYMENTS_API_VERSION = '2022-09-01';

export const subscriptionTemplate = (resources: readonly TemplateResource[]): Template => ({
  $schema: SUBSCRIPTION,
  contentVersion: '1.0.0.0',
  resources,
});

/**
 * Deploys resources into a group from a template of the subscription. All ids in it are full ids, so that none is
 * relative to the template.
 */
export const groupDeployment = (
  name: string,
  group: { readonly id: string; readonly dependsOn: readonly string[] },
  resources: readonly TemplateResource[],
): TemplateResource => ({
  type: 'Microsoft.Resources/deployments',
  apiVersion: DEPLOYMENTS_API_VERSION,
  name,
  resourceGroup: group.id.split('/').at(-1) ?? '',
  dependsOn: group.dependsOn,
  properties: {
    mode: 'Incremental',
    expressionEvaluationOptions: { scope: 'Inner' },
    template: { $schema: GROUP, contentVersion: '1.0.0.0', resources },
  },
});

export const nestedDeploymentId = (groupId: string, name: string): string =>
  `${groupId}/providers/Microsoft.Resources/deployments/${name}`;

/** Returns an expression for a property of a resource whose value only Azure knows. */
export const referenceTo = (id: string, api: string, property: string): string =>
  `[reference('${id}', '${api}').${property}]`;
