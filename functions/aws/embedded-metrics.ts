import { metricFields, type Measured } from '../metrics.ts';

interface MetricLine {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: readonly { readonly Namespace: string; readonly Dimensions: readonly (readonly string[])[]; readonly Metrics: readonly { readonly Name: string; readonly Unit: string }[] }[];
  };
}

/**
 * CloudWatch's embedded metric format, a log line that is a metric too: one line for what was measured at one moment, each
 * measure under its own dimensions.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export const metricLine = (namespace: string, at: number, measured: readonly Measured[]): MetricLine & Readonly<Record<string, unknown>> => ({
  _aws: {
    Timestamp: at,
    CloudWatchMetrics: measured.map(({ name, unit, by = {} }) => ({ Namespace: namespace, Dimensions: [Object.keys(by)], Metrics: [{ Name: name, Unit: unit }] })),
  },
  ...metricFields(measured),
});
