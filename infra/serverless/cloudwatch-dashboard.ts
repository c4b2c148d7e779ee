import { dimensionNames } from '../../functions/metrics.ts';
import { cloudPanels, type Panel, panels, type Series } from './panels.ts';

/**
 * The body of the dashboard in infra/aws/dashboard.yml, with references for `Fn::Sub`.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
 */

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

export const dashboardBody = (namespace: string): object => {
  const own = panels.map(({ title, stacked, series }) => ({
    title,
    stacked,
    metrics: series.map(metricOf(namespace)),
  }));
  return { 'Fn::Sub': JSON.stringify({ widgets: [...own, ...awsPanels].map(widget) }) };
};
