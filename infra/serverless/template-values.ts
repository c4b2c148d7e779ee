import { permissionTags, type PermissionTag } from '../../providers/cluster-entries.ts';
import {
  type Arn,
  managedClusterArns,
  parameterArns,
  resourceArns,
  territoryRoleArns,
  secretArns,
  type CheckedParameters,
  type DeploymentParameters,
} from './parameter-schema.ts';
import { dimensionNames } from '../../functions/metrics.ts';
import { cloudPanels, type Panel, panels, type Series } from './panels.ts';

/** The values of `${cloudfence:name}` in serverless.yml and infra/aws/*.yml. */
export type TemplateValues = Readonly<Record<string, unknown>>;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const FIVE_MINUTES = 5 * MINUTE;
/**
 * A queue's visibility timeout is at least six times the function's timeout:
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
 */
const VISIBILITY = 6;

const rate = (ms: number): string => (ms === MINUTE ? 'rate(1 minute)' : `rate(${ms / MINUTE} minutes)`);

const ruleArn = (name: string): Arn => ({
  'Fn::Sub': `arn:\${AWS::Partition}:events:\${AWS::Region}:\${AWS::AccountId}:rule/${name}`,
});

/** A rule of infra/aws/events.yml that a parameter enables. */
interface OptionalRule {
  readonly parameter: keyof DeploymentParameters;
  /** The end of the rule's name. */
  readonly rule: string;
  /** The description of the parameter in a release's template, and its default there. */
  readonly says: string;
  readonly usual: 'true' | 'false';
}

/** All rules that a parameter enables. The queues deny the events of every other rule. */
export const optionalRules: readonly OptionalRule[] = [
  {
    parameter: 'spotInterruption',
    rule: 'spot-interruption',
    says: 'React to spot interruption warnings',
    usual: 'true',
  },
  {
    parameter: 'rebalanceRecommendation',
    rule: 'rebalance',
    says: 'React to rebalance recommendations',
    usual: 'true',
  },
  { parameter: 'autoScaling', rule: 'auto-scaling', says: 'React to terminations by Auto Scaling', usual: 'true' },
  { parameter: 'health', rule: 'health', says: 'React to AWS Health events about EC2', usual: 'true' },
  {
    parameter: 'cloudTrail',
    rule: 'cloud-trail',
    says: 'React to API calls that stop or terminate instances. This requires a trail in CloudTrail',
    usual: 'false',
  },
];

/** The rule of the doctor's test events. A replay of the archive does not need it. */
export const TEST_RULE = 'test-event';

const rulesOf = (prefix: string, parameters: DeploymentParameters): readonly Arn[] =>
  ['state-change', ...optionalRules.flatMap(({ parameter, rule }) => (parameters[parameter] ? [rule] : []))].map(
    (name) => ruleArn(`${prefix}-${name}`),
  );

/**
 * Returns conditions, each for a separate statement, because all keys of one condition would have to match. An empty
 * list gives one statement without a condition.
 */
const conditionsOf = (tags: readonly PermissionTag[] | undefined): readonly object[] =>
  (tags ?? []).map(({ key, values }) => ({ StringEquals: { [`aws:ResourceTag/${key}`]: values } }));

const eventValues = (prefix: string, parameters: DeploymentParameters): TemplateValues => {
  const sources = ['aws.ec2', ...(parameters.testSource === null ? [] : [parameters.testSource])];
  const withArchive = parameters.archiveDays > 0;
  return {
    stateChangeSources: sources,
    rules: [...rulesOf(prefix, parameters), ruleArn(`${prefix}-${TEST_RULE}`)],
    ruleArns: { 'Fn::Join': [',', rulesOf(prefix, parameters)] },
    withArchive,
    archiveArn: withArchive ? { 'Fn::GetAtt': ['Archive', 'Arn'] } : '',
    archivePattern: JSON.stringify({ source: sources, 'detail-type': ['EC2 Instance State-change Notification'] }),
  };
};

const accessValues = ({ clusters, settings }: CheckedParameters, { kmsKeys }: DeploymentParameters): TemplateValues => {
  const [secrets, parameters, managed] = [secretArns(clusters), parameterArns(clusters), managedClusterArns(clusters)];
  return {
    settings,
    secrets,
    withSecrets: secrets.length > 0,
    parameters,
    withParameters: parameters.length > 0,
    managedClusters: managed,
    withManagedClusters: managed.length > 0,
    keys: kmsKeys,
    withKeys: kmsKeys.length > 0,
  };
};

const territoryValues = ({ territories }: CheckedParameters): TemplateValues => {
  const roles = territoryRoleArns(territories);
  return {
    roles,
    withRoles: roles.length > 0,
    volumes: resourceArns('volume', territories),
    instances: resourceArns('instance', territories),
  };
};

const networkValues = ({ subnets, securityGroups }: DeploymentParameters): TemplateValues => {
  const withNetwork = subnets.length > 0;
  return { withNetwork, vpc: withNetwork ? { subnetIds: subnets, securityGroupIds: securityGroups } : null };
};

/** Returns every value that the template uses. `prefix` is the service and the stage, with which all names begin. */
export const templateValues = (
  prefix: string,
  stage: string,
  checked: CheckedParameters,
  parameters: DeploymentParameters,
): TemplateValues => ({
  ...parameters,
  ...eventValues(prefix, parameters),
  ...accessValues(checked, parameters),
  ...territoryValues(checked),
  ...networkValues(parameters),
  timeout: parameters.timeout / SECOND,
  visibility: (parameters.timeout / SECOND) * VISIBILITY,
  sweepRate: rate(parameters.sweepEvery),
  sweepSeconds: parameters.sweepEvery / SECOND,
  sweepsInFiveMinutes: Math.max(1, Math.ceil(FIVE_MINUTES / parameters.sweepEvery)),
  sweepsWatched: Math.max(3, Math.ceil(FIVE_MINUTES / parameters.sweepEvery)),
  sweepConcurrency: parameters.sweepAlone ? 1 : null,
  oldestMessageSeconds: parameters.oldestMessage / SECOND,
  alarmActions: parameters.alarmTopic === null ? [] : [parameters.alarmTopic],
  incidentTopicArn: parameters.incidentTopic ?? '',
  withIncidentTopic: parameters.incidentTopic !== null,
  namespace: `${parameters.metricsNamespace}/${stage}`,
  dashboardBody: dashboardBody(`${parameters.metricsNamespace}/${stage}`),
  taggedVolumes: conditionsOf(permissionTags(parameters.onlyTagged, checked.clusters)?.volumes),
  taggedInstances: conditionsOf(permissionTags(parameters.onlyTagged, checked.clusters)?.instances),
  withPowerOff: checked.powersOff,
});

type Metric = readonly (string | { readonly stat?: string; readonly label?: string })[];

const stats: Readonly<Record<Series['stat'], string>> = { sum: 'Sum', maximum: 'Maximum', p99: 'p99' };
const WIDTH = 12;
const HEIGHT = 6;

const metricOf =
  (namespace: string) =>
  ({ metric, outcome, stat }: Series): Metric => [
    namespace,
    metric,
    ...(outcome === undefined ? [] : [dimensionNames.outcome, outcome]),
    { stat: stats[stat] },
  ];

const ofQueue = (name: string, queue: string, label?: string): Metric => [
  'AWS/SQS',
  name,
  'QueueName',
  queue,
  { stat: 'Maximum', ...(label !== undefined && { label }) },
];

const ofFunction = (name: string, logicalId: string, stat: string): Metric => [
  'AWS/Lambda',
  name,
  'FunctionName',
  `\${${logicalId}}`,
  { stat },
];

interface Widget extends Pick<Panel, 'title' | 'stacked'> {
  readonly metrics: readonly Metric[];
}

const awsPanels: readonly Widget[] = [
  {
    title: cloudPanels.queues,
    stacked: false,
    metrics: [
      ofQueue('ApproximateAgeOfOldestMessage', '${Queue.QueueName}'),
      ofQueue('ApproximateNumberOfMessagesVisible', '${Queue.QueueName}'),
      ofQueue('ApproximateNumberOfMessagesVisible', '${DeadLetterQueue.QueueName}', 'dead letters'),
    ],
  },
  {
    title: cloudPanels.functions,
    stacked: false,
    metrics: [
      ofFunction('Errors', 'OnDasheventLambdaFunction', 'Sum'),
      ofFunction('Errors', 'SweepLambdaFunction', 'Sum'),
      ofFunction('Throttles', 'OnDasheventLambdaFunction', 'Sum'),
      ofFunction('Duration', 'OnDasheventLambdaFunction', 'p99'),
    ],
  },
];

const widget = ({ title, stacked, metrics }: Widget, at: number): object => ({
  type: 'metric',
  x: (at % 2) * WIDTH,
  y: Math.floor(at / 2) * HEIGHT,
  width: WIDTH,
  height: HEIGHT,
  properties: { title, region: '${AWS::Region}', period: 300, view: 'timeSeries', stacked, metrics },
});

/**
 * Returns the body of the dashboard in infra/aws/dashboard.yml, with references for `Fn::Sub`.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
 */
const dashboardBody = (namespace: string): object => {
  const own = panels.map(({ title, stacked, series }) => ({
    title,
    stacked,
    metrics: series.map(metricOf(namespace)),
  }));
  return { 'Fn::Sub': JSON.stringify({ widgets: [...own, ...awsPanels].map(widget) }) };
};
