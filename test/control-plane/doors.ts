import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { BenchAccess } from './bench-setup.ts';

/** The ways into Cloudfence, each as a child process that knows nothing of the bench but its environment. */

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const environmentFor = ({ kubeconfigs, ec2, settings }: BenchAccess) => ({
  CLOUDFENCE_CONFIG: settings,
  KUBECONFIG: kubeconfigs.cloudfence,
  AWS_ENDPOINT_URL_EC2: ec2.endpoint,
  AWS_REGION: ec2.region,
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_EC2_METADATA_DISABLED: 'true',
});

const run = (bench: BenchAccess, script: string, args: readonly string[], stdin = ''): Promise<Ran> =>
  new Promise((resolve) => {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const child = execFile(process.execPath, [path, ...args], { env: environmentFor(bench), encoding: 'utf8' }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr }),
    );
    child.stdin?.end(stdin);
  });

const outcome = z.looseObject({
  outcome: z.string(),
  instance: z.string(),
  reason: z.string(),
  steps: z.array(z.looseObject({ step: z.string(), target: z.string(), result: z.string() })),
});

type Outcome = z.infer<typeof outcome>;

export interface CliAnswer {
  readonly code: number;
  readonly says: Outcome;
}

/** The built CLI with `--json`, under the service account of the shipped manifest. */
export const cloudfence = async (bench: BenchAccess, ...args: readonly string[]): Promise<CliAnswer> => {
  const { code, stdout, stderr } = await run(bench, '../../cli/cloudfence.js', [...args, '--json']);
  if (stdout === '') throw new Error(`cloudfence ${args.join(' ')} ended with ${code} and said nothing but: ${stderr}`);
  return { code, says: outcome.parse(JSON.parse(stdout)) };
};

/** The CLI's sweep: nobody tells it which machine to look at, so other scenarios' machines are among its answers too. */
export const sweep = async (bench: BenchAccess): Promise<readonly Outcome[]> => {
  const { code, stdout, stderr } = await run(bench, '../../cli/cloudfence.js', ['sweep', '--json']);
  if (stdout === '') throw new Error(`the sweep ended with ${code} and said nothing but: ${stderr}`);
  return z.looseObject({ results: z.array(outcome) }).parse(JSON.parse(stdout)).results;
};

const batchAnswer = z.strictObject({ batchItemFailures: z.array(z.looseObject({ itemIdentifier: z.string() })) });

/** EC2's events for one instance, as EventBridge and SQS hand them over. */
export const stateChanges = (instance: string, states: readonly string[], { region }: BenchAccess['ec2']) => ({
  Records: states.map((state, at) => ({
    messageId: `message-${at}`,
    body: JSON.stringify({
      version: '0',
      id: `event-${instance}-${state}`,
      'detail-type': 'EC2 Instance State-change Notification',
      source: 'aws.ec2',
      account: '123456789012',
      time: new Date().toISOString(),
      region,
      resources: [`arn:aws:ec2:${region}:123456789012:instance/${instance}`],
      detail: { 'instance-id': instance, state },
    }),
  })),
});

/** The AWS handler, fed with one batch; its answer to the queue. */
export const deliver = async (bench: BenchAccess, batch: object): Promise<z.infer<typeof batchAnswer>> => {
  const { stdout, stderr } = await run(bench, 'invoke-handler.ts', [], JSON.stringify(batch));
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (last === '') throw new Error(`the handler said nothing but: ${stderr}`);
  return batchAnswer.parse(JSON.parse(last));
};
