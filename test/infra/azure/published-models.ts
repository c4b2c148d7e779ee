import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/**
 * Azure's own descriptions of the interfaces that a deployment calls, from Microsoft's packages:
 * .ci/install-azure-models.
 */

const field = z.object({
  path: z.array(z.string()),
  type: z.string(),
  required: z.boolean(),
  readOnly: z.boolean(),
  values: z.array(z.string()).nullable(),
  min_length: z.int().optional(),
  max_length: z.int().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
});
const model = z.object({ fields: z.array(field), kinds: z.record(z.string(), z.string()).nullable() });
const published = z.object({
  models: z.record(z.string(), z.record(z.string(), model)),
  requests: z.array(z.object({ method: z.string(), path: z.string(), version: z.string() })),
});

type Field = z.infer<typeof field>;
type Model = z.infer<typeof model>;
type Models = Readonly<Record<string, Model>>;
type Fields = Readonly<Record<string, unknown>>;

export interface Published {
  /** Returns how a resource in a template differs from the published description. */
  readonly faultsIn: (type: string, version: string, resource: Fields) => readonly string[];
  /** Returns the same for a request to ARM: whether it exists in that version, and whether its body is correct. */
  readonly faultsOf: (request: {
    readonly method: string;
    readonly url: URL;
    readonly body: unknown;
  }) => readonly string[];
}

/** The package and the class that describe a type. */
const described: Readonly<Record<string, readonly [string, string]>> = {
  'Microsoft.Resources/deployments': ['resource/resources/v2022_09_01', 'Deployment'],
  'Microsoft.Resources/resourceGroups': ['resource/resources/v2022_09_01', 'ResourceGroup'],
  'Microsoft.Web/serverfarms': ['web/v2024_04_01', 'AppServicePlan'],
  'Microsoft.Web/sites': ['web/v2024_04_01', 'Site'],
  'Microsoft.Web/sites/basicPublishingCredentialsPolicies': [
    'web/v2024_04_01',
    'CsmPublishingCredentialsPoliciesEntity',
  ],
  'Microsoft.Storage/storageAccounts': ['storage', 'StorageAccountCreateParameters'],
  'Microsoft.Storage/storageAccounts/blobServices/containers': ['storage', 'BlobContainer'],
  'Microsoft.Storage/storageAccounts/managementPolicies': ['storage', 'ManagementPolicy'],
  'Microsoft.ServiceBus/namespaces': ['servicebus/v2022_10_01_preview', 'SBNamespace'],
  'Microsoft.ServiceBus/namespaces/queues': ['servicebus/v2022_10_01_preview', 'SBQueue'],
  'Microsoft.EventGrid/systemTopics': ['eventgrid', 'SystemTopic'],
  'Microsoft.EventGrid/systemTopics/eventSubscriptions': ['eventgrid', 'EventSubscription'],
  'Microsoft.ManagedIdentity/userAssignedIdentities': ['msi/v2023_01_31', 'Identity'],
  'Microsoft.Authorization/roleDefinitions': ['authorization/v2022_04_01', 'RoleDefinition'],
  'Microsoft.Authorization/roleAssignments': ['authorization/v2022_04_01', 'RoleAssignmentCreateParameters'],
  'Microsoft.OperationalInsights/workspaces': ['loganalytics', 'Workspace'],
  'Microsoft.Insights/components': ['applicationinsights/v2020_02_02', 'ApplicationInsightsComponent'],
  'Microsoft.Insights/workbooks': ['applicationinsights/v2023_06_01', 'Workbook'],
  'Microsoft.Insights/metricAlerts': ['monitor', 'MetricAlertResource'],
  'Microsoft.Insights/scheduledQueryRules': ['monitor', 'ScheduledQueryRuleResource'],
};

/** Request bodies that are not resources. */
const bodies: readonly (readonly [RegExp, string])[] = [
  [/^PUT .*\/deployments\/[^/]+$/, 'Deployment'],
  [/^POST .*\/whatIf$/, 'ScopedDeploymentWhatIf'],
  [/^PATCH .*\/tags\/default$/, 'TagsPatchResource'],
];

/** No package was published for 2024-01-01 of Service Bus. The next published version is used instead. */
const standsFor: Readonly<Record<string, string>> = { 'Microsoft.ServiceBus 2024-01-01': '2022-10-01-preview' };

const versionAs = (namespace: string, version: string): string => standsFor[`${namespace} ${version}`] ?? version;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Evaluated only by ARM: a text of which nothing else is known. */
const isExpression = (value: unknown): boolean => typeof value === 'string' && /^\[(?!\[).*\]$/s.test(value);

const kindsOfText = new Set(['str', 'iso-8601', 'rfc-1123', 'duration', 'date', 'time', 'base64', 'bytearray']);

const limitFaults = (
  value: unknown,
  { values, minimum, maximum, min_length: shortest, max_length: longest }: Field,
  at: string,
): readonly string[] => [
  ...(typeof value === 'string' && values && !isExpression(value) && !values.includes(value)
    ? [`${at}: "${value}" is none of ${values.join(', ')}`]
    : []),
  ...(typeof value === 'number' && (value < (minimum ?? value) || value > (maximum ?? value))
    ? [`${at}: ${value} is out of bounds`]
    : []),
  ...(typeof value === 'string' && (value.length < (shortest ?? 0) || value.length > (longest ?? value.length))
    ? [`${at}: its length is out of bounds`]
    : []),
];

const plainFaults = (type: string, value: unknown, at: string): readonly string[] | null => {
  if (type === 'object') return [];
  if (kindsOfText.has(type)) return typeof value === 'string' ? [] : [`${at}: is no text`];
  if (type === 'bool') return typeof value === 'boolean' ? [] : [`${at}: is neither true nor false`];
  if (type === 'int' || type === 'long' || type === 'float')
    return typeof value === 'number' ? [] : [`${at}: is no number`];
  return null;
};

const valueFaults = (models: Models, type: string, value: unknown, at: string): readonly string[] => {
  if (type.startsWith('['))
    return Array.isArray(value)
      ? value.flatMap((one, index) => valueFaults(models, type.slice(1, -1), one, `${at}.${index}`))
      : [`${at}: is no list`];
  if (type.startsWith('{'))
    return isObject(value)
      ? Object.entries(value).flatMap(([key, one]) => valueFaults(models, type.slice(1, -1), one, `${at}.${key}`))
      : [`${at}: is no map`];
  return (
    plainFaults(type, value, at) ?? (isObject(value) ? modelFaults(models, type, value, at) : [`${at}: is no ${type}`])
  );
};

/** Of several kinds, the one that the value names. */
const kindOf = (models: Models, name: string, value: Fields): Model => {
  const found = models[name];
  if (!found) throw new Error(`there is no published model ${name}`);
  const said = Object.values(value).find((one) => typeof one === 'string' && found.kinds?.[one] !== undefined);
  const kind = typeof said === 'string' ? found.kinds?.[said] : undefined;
  return kind === undefined ? found : kindOf(models, kind, value);
};

const modelFaults = (models: Models, name: string, value: Fields, at: string): readonly string[] =>
  fieldFaults(models, kindOf(models, name, value).fields, value, at);

const inside = (fields: readonly Field[], key: string): readonly Field[] =>
  fields.flatMap((one) => (one.path[0] === key && one.path.length > 1 ? [{ ...one, path: one.path.slice(1) }] : []));

const keyFaults = (
  models: Models,
  fields: readonly Field[],
  key: string,
  value: unknown,
  at: string,
): readonly string[] => {
  const deeper = inside(fields, key);
  if (deeper.length > 0) return isObject(value) ? fieldFaults(models, deeper, value, at) : [`${at}: is no object`];
  const own = fields.find(({ path }) => path[0] === key);
  if (!own) return fields.some(({ path }) => path[0] === '') ? [] : [`${at}: there is no such property`];
  if (own.readOnly) return [`${at}: only Azure writes it`];
  return [...valueFaults(models, own.type, value, at), ...limitFaults(value, own, at)];
};

const fieldFaults = (models: Models, fields: readonly Field[], value: Fields, at: string): readonly string[] => {
  const missing = fields.filter(
    ({ required, readOnly, path: [key = '', ...rest] }) =>
      required && !readOnly && rest.length === 0 && value[key] === undefined,
  );
  const said = Object.entries(value).filter(([, one]) => one !== undefined);
  return [
    ...missing.map(({ path }) => `${at}.${path[0]}: is missing`),
    ...said.flatMap(([key, one]) => keyFaults(models, fields, key, one, `${at}.${key}`)),
  ];
};

/** `{x}` matches one segment of a path, or a whole ID if it comes first. */
const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .split(/(\{\w+\})/)
      .map((part, at) =>
        part.startsWith('{')
          ? at === 1 && path.startsWith('/{')
            ? '.+'
            : '[^/]+'
          : part.replaceAll('.', String.raw`\.`),
      )
      .join('')}$`,
    'i',
  );

/** Templates nest a deployed resource as properties. A request knows none of a template's other fields. */
const bodyOf = ({
  type: _type,
  apiVersion: _version,
  name: _name,
  scope: _scope,
  dependsOn: _order,
  resourceGroup: _group,
  ...body
}: Fields): Fields => body;

/** Types for which the service sets the name. */
const fixedNames: Readonly<Record<string, string>> = {
  blobServices: 'default',
  basicPublishingCredentialsPolicies: 'ftp',
};

/** Fields of any resource of that type. */
const pathTo = (type: string): string => {
  if (type === 'Microsoft.Resources/resourceGroups') return '/subscriptions/s/resourcegroups/g';
  const [namespace = '', ...kinds] = type.split('/');
  const below = kinds.map((kind) => `/${kind}/${fixedNames[kind] ?? 'x'}`).join('');
  return `/subscriptions/s/resourceGroups/g/providers/${namespace}${below}`;
};

const namespaceIn = (pathname: string): string => /^.*\/providers\/([^/]+)/.exec(pathname)?.[1] ?? '';

export const openPublished = (): Published => {
  const file = execFileSync(fileURLToPath(new URL('../../../.ci/install-azure-models', import.meta.url)), {
    encoding: 'utf8',
  }).trim();
  const { models, requests } = published.parse(JSON.parse(readFileSync(file, 'utf8')));
  const known = requests.map((one) => ({ ...one, pattern: patternOf(one.path) }));
  const isKnown = (method: string, pathname: string, version: string): boolean =>
    known.some(
      (one) =>
        one.method === method &&
        one.version === versionAs(namespaceIn(pathname), version) &&
        one.pattern.test(pathname),
    );
  const bodyFaults = (name: string, body: unknown): readonly string[] =>
    isObject(body)
      ? modelFaults(models['resource/resources/v2022_09_01'] ?? {}, name, body, name)
      : [`${name}: no body`];
  return {
    faultsIn: (type, version, resource) => {
      const [packaged, name] = described[type] ?? ['', ''];
      return [
        ...(isKnown('PUT', pathTo(type), version) ? [] : [`${type}: there is no version ${version}`]),
        ...modelFaults(models[packaged] ?? {}, name, bodyOf(resource), type),
      ];
    },
    faultsOf: ({ method, url, body }) => {
      const version = url.searchParams.get('api-version') ?? '';
      const call = `${method} ${url.pathname}`;
      const name = bodies.find(([pattern]) => pattern.test(call))?.[1];
      return [
        ...(isKnown(method, url.pathname, version) ? [] : [`${call}: there is no such request in ${version}`]),
        ...(name === undefined ? [] : bodyFaults(name, body)),
      ];
    },
  };
};
