import { metric } from '../../functions/names.ts';
import type { Resource } from './ensure.ts';
import type { Install } from './install.ts';
import { logFilter } from './log-filter.ts';

/** Every log entry about a machine that goes or comes is a message of the topic of events. */
export const sink = ({ names, prefix }: Install): Resource => {
  const body = { name: `${prefix}-events`, destination: `pubsub.googleapis.com/${names.topic('events')}`, filter: logFilter };
  return {
    what: `log sink ${names.sink}`,
    host: 'logging',
    path: `v2/${names.sink}`,
    wanted: body,
    create: { method: 'POST', path: `v2/${names.project}/sinks?uniqueWriterIdentity=true`, body },
    change: { method: 'PATCH', path: `v2/${names.sink}?uniqueWriterIdentity=true&updateMask=destination,filter`, body },
  };
};

interface Counted {
  readonly name: string;
  readonly condition: string;
  readonly label?: string;
  readonly value?: boolean;
}

const counted: readonly Counted[] = [
  { name: metric.outcomes, condition: `jsonPayload.${metric.outcomes}>0`, label: 'Outcome' },
  { name: metric.refusals, condition: `jsonPayload.${metric.refusals}>0`, label: 'Reason' },
  { name: metric.deadNodeUnfenced, condition: `jsonPayload.${metric.deadNodeUnfenced}>0` },
  { name: metric.notUnderstood, condition: `jsonPayload.${metric.notUnderstood}>0` },
  ...[metric.eventToProof, metric.proofToMark, metric.markToPodsGone, metric.podsGoneToFenced].map((name) => ({ name, condition: `jsonPayload.${name}>=0`, value: true })),
];

/** https://cloud.google.com/logging/docs/reference/v2/rest/v2/projects.metrics */
const logMetric = ({ names, prefix }: Install, { name, condition, label, value }: Counted): Resource => {
  const body = {
    name: `${prefix}-${name}`,
    filter: `resource.type="cloud_run_revision" AND resource.labels.service_name=~"^${prefix}-(on-event|sweep|replay|fence)$" AND ${condition}`,
    metricDescriptor: { metricKind: 'DELTA', valueType: value ? 'DISTRIBUTION' : 'INT64', unit: value ? 'ms' : '1', ...(label !== undefined && { labels: [{ key: label }] }) },
    ...(label !== undefined && { labelExtractors: { [label]: `EXTRACT(jsonPayload.${label})` } }),
    ...(value && { valueExtractor: `EXTRACT(jsonPayload.${name})` }),
  };
  const path = `v2/${names.metric(name)}`;
  return { what: `metric ${body.name}`, host: 'logging', path, wanted: body, create: { method: 'POST', path: `v2/${names.project}/metrics`, body }, change: { method: 'PUT', path, body } };
};

/** What the functions log, as metrics under the same names as everywhere: functions/names.ts. */
export const metrics = (install: Install): readonly Resource[] => counted.map((one) => logMetric(install, one));
