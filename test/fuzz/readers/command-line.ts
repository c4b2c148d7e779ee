import { Readable } from 'node:stream';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../../cli/program.ts';
import { parseJsonOrNull } from '../../../fencing/model/json-text.ts';
import { bodyText } from '../../../functions/messages.ts';
import { type Damage, damaged, decoded } from '../damage.ts';
import { CANARY, type Reader, type Reading } from '../judge.ts';

/**
 * The arguments of the CLI, and what it reads from files and from its input. The only cluster and the only cloud are on
 * a local port on which nothing listens, so a command that gets that far cannot reach them.
 */

const nowhere = '127.0.0.1:9';

const kubeconfig = `apiVersion: v1
kind: Config
current-context: x
clusters: [{ name: c, cluster: { server: "https://${nowhere}" } }]
users: [{ name: u, user: { token: ${CANARY} } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
`;

const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-fuzz-'));
const files = { kubeconfig: path.join(folder, 'kubeconfig'), event: path.join(folder, 'event') };
await writeFile(files.kubeconfig, kubeconfig);
await writeFile(files.event, '{"instanceId":"i-0123456789abcdef0"}');

const environment = {
  KUBECONFIG: files.kubeconfig,
  HOME: folder,
  AWS_ACCESS_KEY_ID: 'AKIA',
  AWS_SECRET_ACCESS_KEY: CANARY,
  AWS_REGION: 'eu-west-1',
  AWS_ENDPOINT_URL: `http://${nowhere}`,
  AWS_MAX_ATTEMPTS: '1',
  AWS_EC2_METADATA_DISABLED: 'true',
  CLOUDFENCE_GCP_ENDPOINT: `http://${nowhere}`,
  CLOUDFENCE_AZURE_ENDPOINT: `http://${nowhere}`,
  AZURE_SUBSCRIPTION_ID: '11111111-1111-1111-1111-111111111111',
};

const machine = 'i-0123456789abcdef0';
const commands = [
  ['fence', machine, '--cloud', 'aws', '--region', 'eu-west-1', '--dry-run', '--json', '--timeout', '1s'],
  ['fence', 'a-node', '--kubeconfig', files.kubeconfig, '--context', 'x', '--debug', '--timeout', '1s'],
  ['replay', '-', '--timeout', '1s', '--json'],
  ['replay', files.event, '--cloud', 'aws', '--timeout', '500ms'],
  ['sweep', '--json', '--timeout', '1s'],
  ['release', 'a-node', '--accept', 'I looked at it', '--timeout', '1s'],
  ['release', '--all', '--timeout', '1s', '--json'],
  ['cap', '--override', '30m', '--reason', 'the zone is lost', '--cluster', 'default', '--timeout', '1s'],
  ['kubeconfig', '--name', 'c', '--server', `https://${nowhere}`, '--timeout', '1s'],
  ['demo', '--scenario', 'none', '--seed', '1', '--json'],
].map((args) => JSON.stringify({ args, input: '{"instanceId":"i-0123456789abcdef0"}' }));

/** No process gets an argument with a NUL, or longer arguments than this (characters). */
const LONGEST_ARGUMENT = 131_071;
const argumentOf = (value: unknown): string => bodyText(value).replaceAll('\u0000', '').slice(0, LONGEST_ARGUMENT);

const given = (text: string): { readonly args: readonly string[]; readonly input: string } => {
  const read = parseJsonOrNull(text);
  const { args, input } = {
    args: ['replay', '-', '--timeout', '1s'],
    input: text,
    ...(typeof read === 'object' && !Array.isArray(read) ? read : {}),
  };
  return { args: (Array.isArray(args) ? args : [args]).slice(0, 1_000).map(argumentOf), input: bodyText(input) };
};

/** Time passes quickly, so that nothing waits for its time limit. */
const clock = () => {
  let now = Date.UTC(2026, 0, 1);
  const ends = new AbortController().signal;
  return {
    now: () => ({ wall: now, mono: now }),
    sleep: async (ms: number) => void (now += ms),
    timeout: (ms: number) => (ms < 100 ? AbortSignal.abort() : ends),
  };
};

const withEnvironment = async <T>(run: () => Promise<T>): Promise<T> => {
  const own = process.env;
  process.env = { ...environment };
  try {
    return await run();
  } finally {
    process.env = own;
  }
};

const WORDS: Readonly<Record<number, string>> = { 0: 'done', 1: 'failed', 2: 'misused' };

const run = async (text: string): Promise<Reading> => {
  const { args, input } = given(text);
  const said: string[] = [];
  const debugged = args.includes('--debug');
  const code = await withEnvironment(() =>
    runCommand(args, {
      screens: { output: null, errors: null },
      line: (line) => void said.push(line),
      complain: (line) => void said.push(line),
      input: () => Readable.from([Buffer.from(input)]),
      clock: clock(),
    }),
  );
  return {
    outcome: WORDS[code] ?? `exit code ${code}`,
    // With --debug, a person asks for the stack, which contains raw errors as causes.
    said: debugged ? said.filter((line) => line.includes(CANARY)) : said,
  };
};

export const commandLineReaders: readonly Reader[] = [
  {
    name: 'command line',
    share: 10,
    takes: 'json',
    turns: commands.map((_, at) => at),
    read: (damage: Damage) => run(decoded(damaged(commands, damage))),
  },
];
