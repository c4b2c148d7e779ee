import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { kubeConfigsIn, linkFromFiles } from '../../app/connect-cluster.ts';
import { readEnvironment } from '../../config/environment.ts';
import { kubeconfigFiles } from '../../config/settings.ts';
import { createFolder, unwritableFile } from '../output-file.ts';
import { type Survey, survey } from '../survey.ts';
import { InvalidInput } from '../../fencing/model/errors.ts';
import { shellQuote } from '../../providers/stage.ts';
import { type Terminal, packageFolder, type Output } from '../answer.ts';
import { type StageFileReader, stageFile, valuesFor } from '../stage-file.ts';
import { stringify } from 'yaml';
import { callClock } from '../../kubernetes/connection.ts';
import { openConnection } from '../../kubernetes/cluster.ts';
import { accountToken, type AccountToken } from '../../kubernetes/account-token.ts';

export interface InitOptions {
  readonly kubeconfig?: string;
  readonly context?: readonly string[];
  readonly allContexts?: boolean;
  readonly cloud?: string;
  readonly stage: string;
  readonly for: StageFileReader;
  readonly output?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
  /** In ms. */
  readonly timeout: number;
}

const CLI_FILE = 'cloudfence.yml';

const fileFor = ({ writer }: Survey, { output, stage, for: reader }: InitOptions): string =>
  output ?? (reader === 'cli' ? CLI_FILE : writer.file(stage));

/** In a checkout, the schemas are beside `stages/`. Elsewhere, an editor would look for them in vain. */
const schemaFor = (file: string, { writer }: Survey, reader: StageFileReader): string | null => {
  const schema = `../infra/schemas/${writer.schema}`;
  return reader === 'functions' && existsSync(path.join(path.dirname(file), schema)) ? schema : null;
};

const stepsFor = (found: Survey, { stage, for: reader, kubeconfig }: InitOptions, file: string): readonly string[] => {
  const { writer, clusters } = found;
  const given = kubeconfig === undefined ? [] : [`export KUBECONFIG=${shellQuote(absolutePaths(kubeconfig))}`];
  return reader === 'functions'
    ? [...given, ...writer.steps(stage, clusters, packageFolder === null ? 'checkout' : 'release')]
    : [...writer.cliSteps(clusters), `export CLOUDFENCE_CONFIG=${shellQuote(file)}`, 'npx cloudfence doctor'];
};

const absolutePaths = (list: string): string =>
  list
    .split(path.delimiter)
    .map((file) => (file === '' ? file : path.resolve(file)))
    .join(path.delimiter);

/** An existing file may contain a person's changes. */
const write = async (file: string, text: string, force: boolean): Promise<void> => {
  try {
    await createFolder(path.dirname(file));
  } catch (cause) {
    throw unwritableFile(file, cause);
  }
  try {
    await writeFile(file, text, { flag: force ? 'w' : 'wx' });
  } catch (cause) {
    const exists = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    if (!exists) throw unwritableFile(file, cause);
    throw new InvalidInput(
      `${file} exists already: give --force to replace it, another file with --output, or --dry-run to see the text`,
      { cause },
    );
  }
};

const answerJson = (found: Survey, options: InitOptions, file: string, text: string): object => ({
  file,
  written: options.dryRun !== true,
  cloud: found.cloud,
  confirmed: found.confirmed,
  values: valuesFor(found, options.for).map(({ key, value, says }) => ({ key, value, from: says })),
  clusters: found.clusters.map((cluster) => ({
    name: cluster.name,
    context: cluster.context,
    managed: found.writer.access(cluster, found.clusters).managed,
    version: cluster.version,
    nodes: cluster.nodes.length,
    drivers: cluster.inventory.drivers,
  })),
  unreachable: found.unreachable,
  others: found.others,
  steps: stepsFor(found, options, file),
  text,
});

const show = (found: Survey, options: InitOptions, file: string, text: string, { line, complain }: Terminal): void => {
  if (options.json) {
    line(JSON.stringify(answerJson(found, options, file, text)));
    return;
  }
  if (options.dryRun) line(text.trimEnd());
  const say = options.dryRun ? complain : line;
  say(options.dryRun ? `This would be ${file}. The remaining steps:` : `Wrote ${file}. Read it, and then:`);
  for (const step of stepsFor(found, options, file)) say(`  ${step}`);
};

/** Reads clusters and their cloud, writes a file for them, and prints the remaining steps. */
export const init = async (options: InitOptions, terminal: Terminal): Promise<number> => {
  const { clock, complain } = terminal;
  const kubeconfig = kubeconfigFiles(readEnvironment(), options);
  const found = await survey(
    {
      kubeconfigs: await kubeConfigsIn(kubeconfig),
      contexts: options.context ?? [],
      all: options.allContexts ?? false,
      cloud: options.cloud ?? null,
    },
    { now: () => clock.now().wall, sleep: clock.sleep, deadline: clock.timeout },
    clock.timeout(options.timeout),
  );
  const file = fileFor(found, options);
  const date = new Date(clock.now().wall).toISOString().slice(0, 10);
  const schema = schemaFor(file, found, options.for);
  const text = stageFile(found, { reader: options.for, kubeconfig: absolutePaths(kubeconfig), schema, date });
  for (const { context, says } of found.unreachable)
    complain(`${context} cannot be reached, so it is not in the file: ${says}`);
  if (!options.dryRun) await write(file, text, options.force ?? false);
  show(found, options, file, text, terminal);
  return 0;
};

export interface KubeconfigOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly name: string;
  readonly server?: string;
  /** In ms. */
  readonly timeout: number;
}

/** Prints only a kubeconfig of the service account that infra/kubernetes/rbac.yaml creates. */
export const kubeconfig = async (
  { context, name, server, timeout, ...flags }: KubeconfigOptions,
  output: Output,
): Promise<number> => {
  const wanted = {
    kubeconfig: kubeconfigFiles(readEnvironment(), flags),
    context: context ?? null,
    name,
    server: server ?? null,
  };
  output.line((await accountKubeconfig(wanted, AbortSignal.timeout(timeout))).trimEnd());
  return 0;
};

interface AccountKubeconfig {
  /** Paths of the kubeconfig files of a person who may create Secrets in kube-system, in the format of KUBECONFIG. */
  readonly kubeconfig: string;
  readonly context: string | null;
  /** The name of the cluster in the new kubeconfig. */
  readonly name: string;
  /** The address at which the functions reach the API server, if it differs from this person's address. */
  readonly server: string | null;
}

const kubeconfigYaml = (name: string, server: string, { token, ca }: AccountToken): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'cloudfence', user: { token } }],
    contexts: [{ name, context: { cluster: name, user: 'cloudfence' } }],
  });

/**
 * Returns a kubeconfig for Cloudfence's own service account. Anyone who has the kubeconfig has the rights of the
 * account.
 * @throws InvalidConfiguration, Unavailable, PermissionDenied, Refused
 */
const accountKubeconfig = async (
  { kubeconfig, context, name, server }: AccountKubeconfig,
  signal: AbortSignal,
): Promise<string> => {
  const link = await linkFromFiles(kubeconfig, context);
  try {
    return kubeconfigYaml(
      name,
      server ?? link.server,
      await accountToken(openConnection({ name, link, clock: callClock }), signal),
    );
  } finally {
    await link.close();
  }
};
