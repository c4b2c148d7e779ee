import { z } from 'zod';
import { optionalRules, TEST_RULE } from './template-values.ts';

/**
 * The template of a release, made from the one that `serverless package` writes for a placeholder stage and region.
 * People who install it give CloudFormation parameters instead of a stage's file, and keep the zips in a their own
 * bucket.
 */

interface Parameter {
  readonly Type: 'String' | 'Number' | 'CommaDelimitedList';
  readonly Description: string;
  readonly Default?: string;
  readonly AllowedValues?: readonly string[];
  readonly AllowedPattern?: string;
}

const text = (Description: string, more: Partial<Parameter> = {}): Parameter => ({
  Type: 'String',
  Description,
  ...more,
});
const list = (Description: string): Parameter => ({ Type: 'CommaDelimitedList', Description, Default: '' });
const flag = (Description: string, Default: 'true' | 'false'): Parameter => ({
  Type: 'String',
  Description,
  Default,
  AllowedValues: ['true', 'false'],
});

const whatIsDeployed = (version: string): Readonly<Record<string, Parameter>> => ({
  Stage: text('The names of all resources begin with cloudfence-<Stage>-', {
    Default: 'prod',
    AllowedPattern: '[a-z][a-z0-9-]{0,19}',
  }),
  CodeBucket: text('The S3 bucket with the zip files of the functions, in the region of this stack'),
  CodePrefix: text('The prefix of the keys of the zip files, including the last slash', {
    Default: `cloudfence/${version}/`,
  }),
  Settings: text(
    'The configuration as one line of JSON, such as ' +
      '{"clusters":[{"name":"prod","secret":"cloudfence-prod"}],"shadow":true}: docs/configuration.md',
    { AllowedPattern: '\\{.*"clusters".*\\}' },
  ),
  SecretArns: list(
    'ARNs of the secrets that Settings names. If you do not know the last six characters of an ARN, write -??????',
  ),
  ParameterArns: list('ARNs of the SSM parameters that Settings names'),
  KmsKeyArns: list('ARNs of your own KMS keys that encrypt those secrets or parameters'),
  EksClusterArns: list('ARNs of the EKS clusters that Settings names'),
  RoleArns: list('ARNs of the roles of territories that Settings names'),
  TagValue: text('Cloudfence may detach volumes from instances only if both have the tag cloudfence=<TagValue>', {
    Default: 'true',
    AllowedPattern: '.+',
  }),
  AnyMachine: flag('true: Cloudfence may detach any volume in the account and region, whatever its tags are', 'false'),
  PowerOff: flag('true: also allow ec2:StopInstances, which the policy `unreachable: power-off` requires', 'false'),
});

const capitalized = (parameter: string): string => `${parameter.slice(0, 1).toUpperCase()}${parameter.slice(1)}`;

/** Returns the condition under which a rule is made, such as `WithHealth` for the parameter `health`. */
const conditionOf = (parameter: string): string => `With${capitalized(parameter)}`;

const whatItReactsTo: Readonly<Record<string, Parameter>> = {
  ...Object.fromEntries(optionalRules.map(({ parameter, says, usual }) => [capitalized(parameter), flag(says, usual)])),
  ArchiveDays: {
    Type: 'Number',
    Description: 'The number of days for which events can be replayed. 0: no archive',
    Default: '14',
  },
  AlarmTopicArn: text('ARN of the SNS topic that receives the alarms', { Default: '' }),
  IncidentDays: { Type: 'Number', Description: 'The number of days for which incidents are kept', Default: '400' },
  IncidentTopicArn: text('ARN of an SNS topic that receives a message for each fence, refusal, and release', {
    Default: '',
  }),
  MakeDashboard: flag('Create a CloudWatch dashboard', 'true'),
  SubnetIds: list('Subnets from which the functions reach API servers without a public address'),
  SecurityGroupIds: list('Security groups of the functions. Set them together with SubnetIds'),
};

export const stackParameters = (version: string): Readonly<Record<string, Parameter>> => ({
  ...whatIsDeployed(version),
  ...whatItReactsTo,
});

const ref = (name: string): { readonly Ref: string } => ({ Ref: name });
const NO_VALUE = ref('AWS::NoValue');
const ifCondition = (condition: string, then: unknown, otherwise: unknown = NO_VALUE): object => ({
  'Fn::If': [condition, then, otherwise],
});

const isNot = (value: unknown, name: string): object => ({ 'Fn::Not': [{ 'Fn::Equals': [value, name] }] });
const isGiven = (name: string): object => isNot({ 'Fn::Join': ['', ref(name)] }, '');
const isTrue = (name: string): object => ({ 'Fn::Equals': [ref(name), 'true'] });

export const stackConditions = {
  WithSecrets: isGiven('SecretArns'),
  WithParameters: isGiven('ParameterArns'),
  WithKeys: isGiven('KmsKeyArns'),
  WithManagedClusters: isGiven('EksClusterArns'),
  WithRoles: isGiven('RoleArns'),
  WithNetwork: isGiven('SubnetIds'),
  WithAlarmTopic: isNot(ref('AlarmTopicArn'), ''),
  WithIncidentTopic: isNot(ref('IncidentTopicArn'), ''),
  WithArchive: isNot(ref('ArchiveDays'), '0'),
  WithTags: { 'Fn::Equals': [ref('AnyMachine'), 'false'] },
  WithPowerOff: isTrue('PowerOff'),
  WithDashboard: isTrue('MakeDashboard'),
  ...Object.fromEntries(optionalRules.map(({ parameter }) => [conditionOf(parameter), isTrue(capitalized(parameter))])),
};

/** IAM has no condition whose key is a parameter, so the tag's key is fixed and only its value is a parameter. */
const tagged = [ifCondition('WithTags', { StringEquals: { 'aws:ResourceTag/cloudfence': ref('TagValue') } })];

const ruleArn = (name: string): object => ({
  'Fn::Sub': `arn:\${AWS::Partition}:events:\${AWS::Region}:\${AWS::AccountId}:rule/cloudfence-\${Stage}-${name}`,
});
const rules = [
  ruleArn('state-change'),
  ...optionalRules.map(({ parameter, rule }) => ifCondition(conditionOf(parameter), ruleArn(rule))),
];

/** The values of `${cloudfence:name}` in the template of a release that differ from those of a stage. */
export const releasedValues = {
  settings: ref('Settings'),
  secrets: ref('SecretArns'),
  withSecrets: 'WithSecrets',
  parameters: ref('ParameterArns'),
  withParameters: 'WithParameters',
  keys: ref('KmsKeyArns'),
  withKeys: 'WithKeys',
  managedClusters: ref('EksClusterArns'),
  withManagedClusters: 'WithManagedClusters',
  roles: ref('RoleArns'),
  withRoles: 'WithRoles',
  withNetwork: 'WithNetwork',
  withPowerOff: 'WithPowerOff',
  onlyTagged: ifCondition('WithTags', { 'Fn::Sub': 'cloudfence=${TagValue}' }, 'any'),
  taggedVolumes: tagged,
  taggedInstances: tagged,
  alarmActions: ifCondition('WithAlarmTopic', [ref('AlarmTopicArn')]),
  ...Object.fromEntries(optionalRules.map(({ parameter }) => [parameter, conditionOf(parameter)])),
  rules: [...rules, ruleArn(TEST_RULE)],
  ruleArns: { 'Fn::Join': [',', rules] },
  withArchive: 'WithArchive',
  archiveDays: ref('ArchiveDays'),
  archiveArn: ifCondition('WithArchive', { 'Fn::GetAtt': ['Archive', 'Arn'] }, ''),
  incidentDays: ref('IncidentDays'),
  incidentTopicArn: ref('IncidentTopicArn'),
  withIncidentTopic: 'WithIncidentTopic',
  dashboard: 'WithDashboard',
} as const;

/**
 * Names that occur nowhere else, so that every text that contains them is found. `serverless` accepts only regions that
 * it knows.
 */
export const PLACEHOLDER = { stage: 'placeholder0', region: 'us-isob-east-1' } as const;

const resource = z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) });
const template = z.looseObject({
  Resources: z.record(z.string(), resource),
  Outputs: z.record(z.string(), z.unknown()).default({}),
});

type Resource = z.infer<typeof resource>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const named = (value: string): string =>
  value.replaceAll(PLACEHOLDER.stage, '${Stage}').replaceAll(PLACEHOLDER.region, '${AWS::Region}');

/** Turns a text with a placeholder into an `Fn::Sub`. A text that is already an `Fn::Sub` keeps its own variables. */
const substituted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(substituted);
  if (isObject(value)) {
    if (typeof value['Fn::Sub'] === 'string') return { 'Fn::Sub': named(value['Fn::Sub']) };
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, substituted(inner)]));
  }
  if (typeof value !== 'string' || named(value) === value) return value;
  return { 'Fn::Sub': named(value.replaceAll('${', '${!')) };
};

/** The bucket of `serverless` is left out, because the zips are in an existing bucket. */
const isOfBucket = (name: string): boolean => name.startsWith('ServerlessDeploymentBucket');

const NETWORK = ifCondition('WithNetwork', { SubnetIds: ref('SubnetIds'), SecurityGroupIds: ref('SecurityGroupIds') });

const key = z.object({ S3Key: z.string() });

const inOwnBucket = (one: Resource): Resource => {
  if (one.Type !== 'AWS::Lambda::Function') return one;
  const zip = key.parse(one.Properties['Code']).S3Key.split('/').at(-1) ?? '';
  const Code = { S3Bucket: ref('CodeBucket'), S3Key: { 'Fn::Sub': `\${CodePrefix}${zip}` } };
  return { ...one, Properties: { ...one.Properties, Code, VpcConfig: NETWORK } };
};

const withoutBucket = <T>(all: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !isOfBucket(name)));

export const releasedStack = (packaged: unknown, version: string): object => {
  const { Resources, Outputs } = template.parse(packaged);
  const resources = Object.fromEntries(
    Object.entries(withoutBucket(Resources)).map(([name, one]) => [name, substituted(inOwnBucket(one))]),
  );
  return {
    AWSTemplateFormatVersion: '2010-09-09',
    Description: `Cloudfence ${version}: fences Kubernetes Nodes whose EC2 instance is proven off`,
    Parameters: stackParameters(version),
    Conditions: stackConditions,
    Resources: resources,
    Outputs: substituted(withoutBucket(Outputs)),
  };
};
