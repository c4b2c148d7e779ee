import { readEnvironment } from '../../config/environment.ts';
import { loadWithoutClusters } from '../../config/settings.ts';
import { InvalidInput } from '../../fencing/model/errors.ts';
import { type IncidentSource, readIncidents, incidentSourceAt } from '../../incidents/source.ts';
import { reportJson } from '../../report/json.ts';
import { makeVisible } from '../../report/markup.ts';
import { reportMarkdown } from '../../report/markdown.ts';
import { reportPage } from '../../report/page.ts';
import { objectsToRead, type Report, requireIncidents, selected, type ReportFilter } from '../../report/select.ts';
import { writeOutput } from '../output-file.ts';
import type { Terminal } from '../answer.ts';
import { incidentFolder, isAddress, openPlace } from '../incident-place.ts';

export interface ReportOptions {
  /** A folder, or the address of a bucket or a container. */
  readonly from?: string;
  readonly config?: string;
  readonly region?: string;
  /** In ms. */
  readonly since?: number;
  readonly output?: string;
  readonly shadow?: boolean;
  /** In ms. */
  readonly timeout: number;
}

const formats: Readonly<Record<string, (report: Report) => string>> = {
  html: reportPage,
  md: reportMarkdown,
  json: reportJson,
};

interface Destination {
  /** Null: standard output. */
  readonly file: string | null;
  readonly write: (report: Report) => string;
}

/** Reads `report.html` as a file with that format, and `html` as that format on standard output. */
const destinationOf = (output: string): Destination => {
  const [form = '', ...before] = output.split('.').reverse();
  const write = formats[form];
  if (write) return { file: before.length === 0 ? null : output, write };
  throw new InvalidInput(
    `-o ${output} names no form of a report: give a file that ends with .html, .md, or .json, or just html, ` +
      'md, or json',
  );
};

const NO_PLACE =
  'say where the incidents are: --from with a bucket, a container, or a folder, or `incidents` in the ' +
  'configuration file';

const openSource = async ({ from, config, region }: ReportOptions): Promise<IncidentSource> => {
  if (from !== undefined && !isAddress(from)) return incidentFolder(from);
  const flags = { ...(config !== undefined && { config }), ...(region !== undefined && { region }) };
  const settings = await loadWithoutClusters(readEnvironment(), flags);
  const place = from ?? settings.incidents;
  if (place === undefined) throw new InvalidInput(NO_PLACE);
  if (!isAddress(place)) return incidentFolder(place);
  return incidentSourceAt(await openPlace(place, settings));
};

const gather = async (
  source: IncidentSource,
  wanted: ReportFilter,
  made: number,
  signal: AbortSignal,
): Promise<Report> => {
  const objects = objectsToRead(await source.list(signal), wanted);
  const { incidents, damaged } = await readIncidents(objects, source, signal);
  return { wanted, where: source.where, made, incidents: selected(incidents, wanted), read: incidents, damaged };
};

/** Reports what happened, from the stored incidents. Contacts no cluster. Reports objects that cannot be read. */
export const report = async (
  target: string | undefined,
  options: ReportOptions,
  { line, complain, clock }: Terminal,
): Promise<number> => {
  const { since, output = 'md', shadow = false, timeout } = options;
  const { file, write } = destinationOf(output);
  const { wall: made } = clock.now();
  const wanted = { target: target ?? null, since: since === undefined ? null : made - since, shadow };
  const report = await gather(await openSource(options), wanted, made, AbortSignal.timeout(timeout));
  for (const { name, what, remedy } of report.damaged)
    complain(`cloudfence: ${makeVisible(name)}: ${makeVisible(what)}. To mend it, ${remedy}.`);
  requireIncidents(report);
  const text = write(report);
  if (file === null) line(text.trimEnd());
  else {
    await writeOutput(file, text);
    line(`${file}: ${report.incidents.length === 1 ? '1 incident' : `${report.incidents.length} incidents`}`);
  }
  return 0;
};
