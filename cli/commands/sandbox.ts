import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { loadPractice } from '../../demo/clouds.ts';
import { openPracticeControl, PRACTICE_HELP, type Practice } from '../../demo/practice.ts';
import { CloudfenceError, InvalidInput } from '../../fencing/model/errors.ts';
import type { LoggedOutcome } from '../../demo/platform.ts';
import type { Terminal } from '../answer.ts';
import { folderStore } from '../incident-place.ts';
import { createFolder } from '../output-file.ts';
import { handleInterrupts } from '../session.ts';

export interface SandboxOptions {
  readonly cloud: string;
  /** Where the kubeconfig, the variables, and the events are written. */
  readonly folder: string;
  /** Whether the functions of Cloudfence also run in it. */
  readonly installed?: boolean;
}

const asJson = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/** The configuration of the CLI. It is written as JSON, because JSON is valid YAML. */
const configurationOf = ({ cluster }: Practice, kubeconfig: string, incidents: string): string =>
  asJson({ incidents, clusters: [{ name: cluster, kubeconfig }] });

/** A kubeconfig may also be JSON. */
const kubeconfigOf = ({ api, cluster: name, users }: Practice): string => {
  const cluster = { server: api.url, 'certificate-authority-data': Buffer.from(api.ca).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': users[0]?.context,
    clusters: [{ name, cluster }],
    users: users.map(({ context, token }) => ({ name: context, user: { token } })),
    contexts: users.map(({ context }) => ({ name: context, context: { cluster: name, user: context } })),
  };
  return asJson(config);
};

const exportLines = (variables: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(variables).map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`);

/** Contains the address at which commands in another terminal reach the sandbox. */
const controlFile = (folder: string): string => path.join(folder, 'control');

/** Marks a folder of a sandbox. */
const MARKER = '.cloudfence-sandbox';

/** Returns the names in the folder, which is created if it does not exist. @throws InvalidInput if it cannot be used */
const namesIn = async (folder: string): Promise<readonly string[]> => {
  try {
    await createFolder(folder);
    return await readdir(folder);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidInput(`${folder} cannot be used: give another folder with --folder (${why})`, { cause });
  }
};

/**
 * Uses a new or an old sandbox folder, and never writes into a folder with other files.
 * @throws InvalidInput if the folder contains other files, or cannot be used
 */
const claimFolder = async (folder: string): Promise<void> => {
  const there = await namesIn(folder);
  if (there.length > 0 && !there.includes(MARKER))
    throw new InvalidInput(`${folder} holds files that no sandbox has written: give an empty folder with --folder`);
  await writeFile(path.join(folder, MARKER), '');
};

const incidentsIn = (folder: string): string => path.resolve(folder, 'incidents');

const writeAccess = async (practice: Practice, control: string, folder: string): Promise<void> => {
  const kubeconfig = path.resolve(folder, 'kubeconfig');
  for (const each of [path.join(folder, 'events'), incidentsIn(folder)]) {
    await rm(each, { recursive: true, force: true });
    await mkdir(each, { recursive: true });
  }
  await writeFile(kubeconfig, kubeconfigOf(practice));
  await chmod(kubeconfig, 0o600);
  const configuration = path.resolve(folder, 'cloudfence.yml');
  await writeFile(configuration, configurationOf(practice, kubeconfig, incidentsIn(folder)));
  const variables = exportLines({
    ...practice.environment,
    KUBECONFIG: kubeconfig,
    CLOUDFENCE_CONFIG: configuration,
  });
  await writeFile(path.join(folder, 'environment'), `${variables.join('\n')}\n`);
  await writeFile(controlFile(folder), control);
};

/** Writes each new event into a file, so that `cloudfence replay` can read it. Returns the number of events. */
const writeEvents = async (
  practice: Practice,
  folder: string,
  written: number,
  { line }: Terminal,
): Promise<number> => {
  const events = practice.events();
  for (const [index, { event, says }] of events.entries()) {
    if (index < written) continue;
    const file = path.join(folder, 'events', `${String(index + 1).padStart(4, '0')}.json`);
    await writeFile(file, `${JSON.stringify(event, null, 2)}\n`);
    line(`event: ${says}; cloudfence replay ${file}`);
  }
  return events.length;
};

const EVERY_MS = 200;

const writeEventsInTime = async (
  practice: Practice,
  folder: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> => {
  let written = 0;
  while (!signal.aborted) {
    practice.pass();
    written = await writeEvents(practice, folder, written, terminal);
    await terminal.clock.sleep(EVERY_MS, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
};

const answer = (practice: Practice, command: string, { line, complain }: Terminal): void => {
  try {
    for (const text of practice.act(command)) line(text);
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    complain(error.message);
  }
};

/**
 * Reads commands until `quit`. The end of the input does not end the sandbox, so the sandbox can run in the background.
 * At the end, the input is destroyed: a pipe that stays open would keep the process alive.
 */
const readCommands = (practice: Practice, terminal: Terminal, ending: AbortController): void => {
  const input = terminal.input();
  ending.signal.addEventListener('abort', () => input.destroy(), { once: true });
  createInterface({ input, signal: ending.signal }).on('line', (command) => {
    if (command.trim() === 'quit') ending.abort();
    else if (command.trim() !== '') answer(practice, command, terminal);
  });
};

/** The end of the sandbox also ends the functions, whatever they are doing. */
const runFunctions = async (
  practice: Practice,
  folder: string,
  { clock, line }: Terminal,
  signal: AbortSignal,
): Promise<void> => {
  const tell = ({ decision, because, says }: LoggedOutcome): void => line(`function: ${decision} ${says} (${because})`);
  try {
    await practice.react({ sleep: clock.sleep, incidents: folderStore(incidentsIn(folder)), tell }, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

const printWelcome = (practice: Practice, { cloud, folder, installed }: SandboxOptions, { line }: Terminal): void => {
  line(`A simulated cluster on ${cloud} runs until you type quit or press Ctrl-C. In another terminal, run:`);
  line(`  . ${path.join(folder, 'environment')}`);
  line('  cloudfence status; cloudfence diagnose; cloudfence fence pod/default/db-0; kubectl get nodes');
  if (installed) line('The functions of Cloudfence are installed: they get the events, and sweep once a minute.');
  line('Commands, here or as `cloudfence sandbox <command>` in the other terminal:');
  for (const text of PRACTICE_HELP) line(`  ${text}`);
  for (const text of practice.act('machines')) line(text);
};

const serve = async (options: SandboxOptions, terminal: Terminal): Promise<number> => {
  const { folder, cloud } = options;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  await claimFolder(folder);
  const practice = await loadPractice(cloud, () => terminal.clock.now().wall);
  const control = await openPracticeControl(practice, randomUUID());
  const stopHandling = handleInterrupts({
    alsoOn: ['SIGTERM'],
    now: () => terminal.clock.now().mono,
    begin: end,
    again: null,
  });
  try {
    await writeAccess(practice, control.url, folder);
    printWelcome(practice, options, terminal);
    readCommands(practice, terminal, ending);
    const functions = options.installed ? runFunctions(practice, folder, terminal, ending.signal) : null;
    await Promise.all([writeEventsInTime(practice, folder, terminal, ending.signal), functions]);
    return 0;
  } finally {
    end();
    await Promise.all([control.close(), practice.close(), rm(controlFile(folder), { force: true })]);
    stopHandling();
  }
};

const addressIn = async (folder: string): Promise<string> => {
  try {
    return await readFile(controlFile(folder), 'utf8');
  } catch (cause) {
    throw new InvalidInput(`no sandbox runs in ${folder}: start one with \`cloudfence sandbox\`, or give --folder`, {
      cause,
    });
  }
};

/** Sends a command to the sandbox in another terminal. */
const send = async (command: string, { folder }: SandboxOptions, { line }: Terminal): Promise<number> => {
  const url = await addressIn(folder);
  const response = await fetch(url, { method: 'POST', body: command }).catch((cause: unknown) => {
    throw new InvalidInput(`the sandbox of ${folder} does not answer: start it again with \`cloudfence sandbox\``, {
      cause,
    });
  });
  const text = await response.text();
  if (!response.ok) throw new InvalidInput(text);
  line(text);
  return 0;
};

/** Serves the simulated cloud and cluster, or sends a command to a sandbox in another terminal. */
export const sandbox = (words: readonly string[], options: SandboxOptions, terminal: Terminal): Promise<number> =>
  words.length === 0 ? serve(options, terminal) : send(words.join(' '), options, terminal);
