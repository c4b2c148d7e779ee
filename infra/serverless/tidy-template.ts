import type { Hooks, Serverless, Template, TemplateResource } from './service.ts';

/**
 * Evaluates `When` and `OneForEach` in the project's YAML.
 *
 * `When` belongs to a resource (`Metadata: { When: … }`) or to any object in its properties, such as a statement of a
 * policy. If its value is false, the object is left out; otherwise the object stays without `When`. If its value is a
 * string, it names a CloudFormation condition, which then decides.
 *
 * `OneForEach` in a statement of a policy lists conditions. The statement is repeated for each condition, with a number
 * after its Sid from the second one on. An empty list gives one resource without a condition.
 */
type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isDisabled = (value: unknown): boolean => isObject(value) && value['When'] === false;
const withoutField = (fields: Fields, name: string): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));

const repeated = (value: unknown): readonly unknown[] => {
  if (!isObject(value) || !Array.isArray(value['OneForEach'])) return [value];
  const once = withoutField(value, 'OneForEach');
  const conditions: readonly unknown[] = value['OneForEach'];
  if (conditions.length === 0) return [once];
  return conditions.map((Condition, at) => ({
    ...once,
    Sid: `${String(once['Sid'])}${at === 0 ? '' : at + 1}`,
    Condition,
  }));
};

const conditionOf = (value: unknown): string | null =>
  isObject(value) && typeof value['When'] === 'string' ? value['When'] : null;

const withoutConditions = (value: unknown): unknown => {
  if (Array.isArray(value))
    return value
      .filter((one) => !isDisabled(one))
      .flatMap(repeated)
      .map(withoutConditions);
  if (!isObject(value)) return value;
  const left = Object.entries(withoutField(value, 'When')).filter(([, inner]) => !isDisabled(inner));
  const fields = Object.fromEntries(left.map(([key, inner]) => [key, withoutConditions(inner)]));
  const condition = conditionOf(value);
  return condition === null ? fields : { 'Fn::If': [condition, fields, { Ref: 'AWS::NoValue' }] };
};

/** Returns the names of the resources that a value refers to. CloudFormation creates those first in any case. */
export const referencedResources = (value: unknown): ReadonlySet<string> => {
  if (Array.isArray(value)) return new Set(value.flatMap((one) => [...referencedResources(one)]));
  if (!isObject(value)) return new Set();
  return new Set(Object.entries(value).flatMap(([key, inner]) => named(key, inner) ?? [...referencedResources(inner)]));
};

const named = (key: string, value: unknown): readonly string[] | null => {
  if (key === 'Ref') return [String(value)];
  if (key !== 'Fn::GetAtt') return null;
  return [Array.isArray(value) ? String(value[0]) : (String(value).split('.')[0] ?? '')];
};

/**
 * Returns the dependencies that references do not already express. `serverless` repeats the others, which cfn-lint
 * reports as an error.
 */
const explicitDependencies = ({ DependsOn = [], Properties }: TemplateResource): readonly string[] => {
  const implied = referencedResources(Properties);
  return [DependsOn].flat().filter((name) => !implied.has(name));
};

const tidyResource = (resource: TemplateResource): TemplateResource => {
  const { DependsOn: _said, Metadata, ...rest } = resource;
  const metadata = isObject(Metadata) ? withoutField(Metadata, 'When') : {};
  const dependsOn = explicitDependencies(resource);
  const condition = conditionOf(Metadata);
  return {
    ...rest,
    ...(condition !== null && { Condition: condition }),
    ...(resource.Properties === undefined ? {} : { Properties: withoutConditions(resource.Properties) }),
    ...(Object.keys(metadata).length === 0 ? {} : { Metadata: metadata }),
    ...(dependsOn.length === 0 ? {} : { DependsOn: dependsOn }),
  };
};

export const tidyResources = (resources: Template['Resources']): Template['Resources'] =>
  Object.fromEntries(
    Object.entries(resources)
      .filter(([, { Metadata }]) => !isDisabled(Metadata))
      .map(([name, resource]) => [name, tidyResource(resource)]),
  );

/** A plugin of `serverless` that finishes the template. */
export default function tidyTemplate({ service }: Serverless): { readonly hooks: Hooks } {
  const tidy = (): void => {
    const template = service.provider.compiledCloudFormationTemplate;
    template.Resources = tidyResources(template.Resources);
  };
  return { hooks: { 'after:aws:package:finalize:mergeCustomProviderResources': tidy } };
}
