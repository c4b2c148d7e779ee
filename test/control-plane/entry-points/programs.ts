import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Batch } from './events.ts';
import type { FunctionName } from './functions.ts';
import { entryOf } from './functions.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';

export { stateChanges } from './events.ts';

/** Moto's. */
const ACCOUNT = '123456789012';

/** The ways to run Cloudfence, each as a child process that knows only its environment. */

export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const identity = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_EC2_METADATA_DISABLED: 'true' };

const atHand = ({ kubeconfigs, ec2, settings }: TestbedAccess) => ({
  ...identity,
  CLOUDFENCE_CONFIG: settings,
  KUBECONFIG: kubeconfigs.cloudfence,
  AWS_ENDPOINT_URL_EC2: ec2.endpoint,
  AWS_REGION: ec2.region,
});

/** What Lambda gives a deployed function: its whole configuration, and the access to the cluster in a secret. */
export const deployed = async ({ aws, ec2, settings, secret }: TestbedAccess, queue: string | null) => {
  const { policy } = z.object({ policy: z.unknown() }).parse(JSON.parse(await readFile(settings, 'utf8')));
  return {
    ...identity,
    CLOUDFENCE_SETTINGS: JSON.stringify({ policy, clusters: [{ name: 'bench', secret }] }),
    CLOUDFENCE_ACCOUNT: ACCOUNT,
    ...(queue !== null && { CLOUDFENCE_QUEUE_URL: queue }),
    AWS_ENDPOINT_URL: aws.endpoint,
    AWS_ENDPOINT_URL_EC2: ec2.endpoint,
    AWS_REGION: ec2.region,
  };
};

const pathOf = (script: string): string => fileURLToPath(new URL(script, import.meta.url));

/** A child process that has started, and that may be killed or frozen before it ends. */
export interface StartedProgram {
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<ProgramResult>;
}

const begin = (env: Readonly<Record<string, string>>, args: readonly string[], stdin = ''): StartedProgram => {
  const { promise: ended, resolve } = Promise.withResolvers<ProgramResult>();
  const child = execFile(process.execPath, [...args], { env, encoding: 'utf8' }, (error, stdout, stderr) =>
    resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr }),
  );
  child.stdin?.end(stdin);
  return { kill: (signal) => void child.kill(signal), ended };
};

const run = (env: Readonly<Record<string, string>>, args: readonly string[], stdin = ''): Promise<ProgramResult> =>
  begin(env, args, stdin).ended;

/** The built CLI, as a person runs it in a terminal. */
export const runAtHand = (testbed: TestbedAccess, args: readonly string[]): Promise<ProgramResult> =>
  run(atHand(testbed), [pathOf('../../../cli/cloudfence.js'), ...args]);

const runCli = (testbed: TestbedAccess, args: readonly string[]): Promise<ProgramResult> =>
  runAtHand(testbed, [...args, '--json']);

const outcome = z.looseObject({
  outcome: z.string(),
  instance: z.string(),
  reason: z.string(),
  steps: z.array(z.looseObject({ step: z.string(), target: z.string(), result: z.string() })),
  left: z.array(z.strictObject({ what: z.string(), why: z.string() })),
});

export type Outcome = z.infer<typeof outcome>;

export interface CliAnswer {
  readonly code: number;
  readonly says: Outcome;
}

/** What the CLI printed with `--json` about one machine. */
export const answerIn = ({ code, stdout, stderr }: ProgramResult): CliAnswer => {
  if (stdout === '') throw new Error(`cloudfence ended with ${code} and said nothing but: ${stderr}`);
  return { code, says: outcome.parse(JSON.parse(stdout)) };
};

/** The same as `cloudfence`, without waiting for it. */
export const beginCloudfence = (testbed: TestbedAccess, ...args: readonly string[]): StartedProgram =>
  begin(atHand(testbed), [pathOf('../../../cli/cloudfence.js'), ...args, '--json']);

/** The built CLI with `--json`, with the service account of the shipped manifest. */
export const cloudfence = async (testbed: TestbedAccess, ...args: readonly string[]): Promise<CliAnswer> =>
  answerIn(await runCli(testbed, args));

const sweepAnswer = z.looseObject({ results: z.array(outcome) });

/** The CLI's sweep. It has no machine to look at, so its answers include other scenarios' machines. */
export const sweep = async (testbed: TestbedAccess): Promise<readonly Outcome[]> => {
  const { code, stdout, stderr } = await runCli(testbed, ['sweep']);
  if (stdout === '') throw new Error(`the sweep ended with ${code} and said nothing but: ${stderr}`);
  return sweepAnswer.parse(JSON.parse(stdout)).results;
};

const beginFunction = async (
  testbed: TestbedAccess,
  name: FunctionName,
  event: object,
  queue: string | null,
): Promise<StartedProgram> =>
  begin(
    await deployed(testbed, queue),
    [pathOf('invoke-handler.ts'), entryOf(testbed.aws.functions, name)],
    JSON.stringify(event),
  );

/** The answer of a packaged function to one event. */
const invoke = async (
  testbed: TestbedAccess,
  name: FunctionName,
  event: object,
  queue: string | null,
): Promise<unknown> => {
  const { stdout, stderr } = await (await beginFunction(testbed, name, event, queue)).ended;
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (last === '') throw new Error(`the function ${name} said nothing but: ${stderr}`);
  return JSON.parse(last);
};

const batchAnswer = z.strictObject({ batchItemFailures: z.array(z.looseObject({ itemIdentifier: z.string() })) });

/** The same as `deliver`, without waiting for it. */
export const beginDelivery = (testbed: TestbedAccess, batch: Batch): Promise<StartedProgram> =>
  beginFunction(testbed, 'on-event', batch, null);

/**
 * Gives the packaged AWS handler one batch, and returns its answer to the queue. Without a queue, it cannot send
 * anything again.
 */
export const deliver = async (
  testbed: TestbedAccess,
  batch: Batch,
  queue: string | null = null,
): Promise<z.infer<typeof batchAnswer>> => batchAnswer.parse(await invoke(testbed, 'on-event', batch, queue));

/** The packaged sweep, as its schedule calls it. */
export const sweepDeployed = async (testbed: TestbedAccess): Promise<readonly Outcome[]> =>
  sweepAnswer.parse(await invoke(testbed, 'sweep', {}, null)).results;
