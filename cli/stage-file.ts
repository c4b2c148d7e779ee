import { Document, isMap, isScalar, type YAMLMap } from 'yaml';
import type { Survey, SurveyedCluster } from './survey.ts';
import { pluralize, onOneLine } from '../fencing/model/reason.ts';
import { type StageValue, tally } from '../providers/stage.ts';

/** Writes the result of a survey as YAML, with comments about the source of each value. */

/** What reads the file: the deployed functions, or the CLI. */
export type StageFileReader = 'functions' | 'cli';

export interface StageFileOptions {
  readonly reader: StageFileReader;
  /** Paths of the kubeconfig files, in the format of KUBECONFIG. */
  readonly kubeconfig: string;
  /** The schema's path relative to the file; null if it is not known. */
  readonly schema: string | null;
  /** The day on which the file is written. */
  readonly date: string;
}

const comment = (lines: readonly string[]): string => lines.map((line) => ` ${onOneLine(line)}`).join('\n');

const versionsOf = ({ inventory: { nodes, version } }: SurveyedCluster): string => {
  const kubelets = tally(nodes.map(({ kubelet }) => kubelet));
  return (
    `Kubernetes ${version}; ${pluralize(nodes.length, 'Node')}, kubelets ` +
    kubelets.map(({ value, count }) => `${value} (${count})`).join(', ')
  );
};

const driverLines = (
  { inventory: { drivers, unread, nodes } }: SurveyedCluster,
  { writer }: Survey,
): readonly string[] => {
  if (drivers === null) return [`CSI drivers: not read: ${unread ?? ''}`];
  const ofCloud = drivers.filter(({ name }) => writer.diskDrivers.includes(name));
  const lines = drivers.map(({ name, nodes: count }) => {
    const role = writer.diskDrivers.includes(name)
      ? `disks of ${writer.title}, which Cloudfence also detaches through the cloud`
      : 'no disks of the cloud, so a fence frees pods and attachments only';
    return `CSI driver ${name}, on ${count} of ${pluralize(nodes.length, 'Node')}: ${role}`;
  });
  return ofCloud.length > 0
    ? lines
    : [...lines, `No CSI driver for disks of ${writer.title} (${writer.diskDrivers.join(', ')})`];
};

const nodesWithoutMachine = ({ nodes }: SurveyedCluster): readonly string[] => {
  const withoutMachine = nodes.filter(({ machine }) => machine === null).map(({ name }) => name);
  return withoutMachine.length === 0
    ? []
    : [
        `CHECK ${pluralize(withoutMachine.length, 'Node')} without a machine: ` +
          `${withoutMachine.slice(0, 5).join(', ')}. \`cloudfence doctor\` names the remedy`,
      ];
};

const nameLines = (
  { tagged }: SurveyedCluster,
  { writer, answered }: Survey,
  { reader }: StageFileOptions,
): readonly string[] => {
  if (tagged !== null) return [`name: by the tags of its machines, says ${writer.machines}`];
  if (!answered)
    return ['name: by the kubeconfig. If the machines have a tag with the name of their cluster, write that name'];
  return [
    'name: by the kubeconfig',
    ...(writer.untagged === null || reader === 'cli' ? [] : [`CHECK ${writer.untagged}`]),
  ];
};

const clusterComment = (cluster: SurveyedCluster, survey: Survey, options: StageFileOptions): string => {
  const { managed, says } = survey.writer.access(cluster, survey.clusters);
  return comment([
    `Context ${cluster.context}: ${managed ?? 'a control plane of your own'}, ${versionsOf(cluster)}`,
    ...driverLines(cluster, survey),
    ...nodesWithoutMachine(cluster),
    ...nameLines(cluster, survey, options),
    ...(options.reader === 'functions' ? [`access: ${says}`] : []),
  ]);
};

const entryOf = (cluster: SurveyedCluster, survey: Survey, { reader, kubeconfig }: StageFileOptions): object => ({
  name: cluster.name,
  ...(reader === 'cli'
    ? { kubeconfig, context: cluster.context }
    : survey.writer.access(cluster, survey.clusters).entry),
});

const omittedClusters = ({ unreachable, others }: Survey): readonly string[] => [
  ...unreachable.map(
    ({ context, says }) => `This file leaves out context ${context}, because its cluster does not answer: ${says}`,
  ),
  ...others.map(({ context, says }) => `This file leaves out context ${context}: ${says}`),
];

const SHADOW =
  'true: Cloudfence reacts to everything, reports what it would do, and begins nothing. Set it to false when ' +
  'you trust it';

const header = (survey: Survey, { date, reader, schema }: StageFileOptions): string => {
  const { writer, confirmed } = survey;
  return comment([
    ...(schema === null ? [] : [`yaml-language-server: $schema=${schema}`]),
    `Written by \`cloudfence init\` on ${date}, ` +
      `${reader === 'cli' ? 'for the CLI' : `for the functions on ${writer.title}`}. Lines with CHECK, and ` +
      'values by labels, need a look.',
    `The cloud: ${confirmed}.`,
    `The cloud controller manager of ${writer.title}, if one runs:`,
    ...writer.controller.map((line) => `  ${line}`),
  ]);
};

const setWithComment = (document: Document, map: YAMLMap, key: string, value: unknown, says: string): void => {
  const pair = document.createPair(key, value);
  if (isScalar(pair.key)) pair.key.commentBefore = says;
  map.add(pair);
};

/** Returns the values that this reader of the file supports. */
export const valuesFor = ({ writer, clusters }: Survey, reader: StageFileReader): readonly StageValue[] =>
  writer.values(clusters).filter(({ key }) => reader === 'functions' || writer.cliKeys.includes(key));

/** An unknown value is mentioned in the comment before the next key. */
const valueComments = (values: readonly StageValue[]) => {
  let waiting: readonly string[] = [];
  return values.map(({ key, value, says }) => {
    const text = `${key}: ${says}`;
    const said = comment([...waiting, value === null ? `CHECK ${text}` : text]);
    waiting = value === null ? [...waiting, `CHECK ${text}`] : [];
    return { key, value, said, waiting };
  });
};

/** Returns the text of the file. */
export const stageFile = (survey: Survey, options: StageFileOptions): string => {
  const document = new Document({});
  const map = document.contents;
  if (!isMap(map)) throw new TypeError('an empty document is a map');
  const values = valueComments(valuesFor(survey, options.reader));
  for (const { key, value, said } of values) if (value !== null) setWithComment(document, map, key, value, said);
  setWithComment(document, map, 'shadow', true, comment([...(values.at(-1)?.waiting ?? []), SHADOW]));
  setWithComment(
    document,
    map,
    'clusters',
    survey.clusters.map((cluster) => entryOf(cluster, survey, options)),
    comment(omittedClusters(survey)),
  );
  survey.clusters.forEach((cluster, at) => {
    const entry = document.getIn(['clusters', at], true);
    if (isMap(entry)) entry.commentBefore = clusterComment(cluster, survey, options);
  });
  document.commentBefore = header(survey, options);
  return document.toString({ lineWidth: 0 });
};
