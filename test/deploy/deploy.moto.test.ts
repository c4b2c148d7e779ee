import { DescribeReplayCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { startMoto, type MotoServer } from '../contract/provider/moto-server.ts';
import { openService, type PackagedService } from '../infra/packaged-service.ts';
import { plain } from '../infra/aws/stage-files.ts';
import { invokeZip } from '../infra/aws/unpacked-function.ts';

/** `serverless deploy` of the default parameters to moto, whose cfn-lint checks the template first. */

let moto: MotoServer;
let service: PackagedService;

beforeAll(async () => {
  moto = await startMoto();
  service = await openService({ prod: plain });
  return async () => void (await Promise.all([moto.close(), service.close()]));
});

const access = () => ({
  AWS_ENDPOINT_URL: moto.url,
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_REGION: SANDBOX_REGION,
  AWS_EC2_METADATA_DISABLED: 'true',
});
const serverless = (...args: readonly string[]) =>
  service.run([...args, '--stage', 'prod', '--region', SANDBOX_REGION], access());
const client = () => ({
  endpoint: moto.url,
  region: SANDBOX_REGION,
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
});

it('is deployed, and a second deployment changes nothing', async () => {
  expect(await serverless('deploy')).toMatchObject({ code: 0 });
  // The same package: test/infra/aws/packaged shows that another build has the same bytes.
  expect(await serverless('deploy', '--package', '.serverless')).toMatchObject({
    code: 0,
    said: expect.stringMatching(/no changes/i),
  });
}, 240_000);

it('reports about itself', async () => {
  expect(await serverless('info')).toMatchObject({ code: 0, said: expect.stringMatching(/cloudfence[\s\S]*prod/) });
}, 60_000);

it('starts a replay of its archive, and reports its name and state', async () => {
  const { Handler = '', Environment } = await new LambdaClient(client()).send(
    new GetFunctionConfigurationCommand({ FunctionName: 'cloudfence-prod-replay' }),
  );
  const zip = { file: path.join(service.folder, '.serverless/replay.zip'), handler: Handler };
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:00:00Z' };
  const answer = await invokeZip(
    zip,
    path.join(service.folder, 'unpacked-replay'),
    { ...Environment?.Variables, ...access() },
    { replay: range },
  );
  expect(answer).toEqual({
    replay: expect.stringMatching(/^cloudfence-[0-9a-f]{16}$/),
    state: expect.stringMatching(/^(STARTING|RUNNING|COMPLETED)$/),
  });
  const ReplayName = typeof answer === 'object' && answer !== null && 'replay' in answer ? String(answer.replay) : '';
  expect(await new EventBridgeClient(client()).send(new DescribeReplayCommand({ ReplayName }))).toMatchObject({
    ReplayName,
    EventSourceArn: Environment?.Variables?.['CLOUDFENCE_ARCHIVE_ARN'],
  });
}, 60_000);

it('is removed only by force, because it cannot be asked for fences there', async () => {
  expect(await serverless('remove', '--force-remove')).toMatchObject({ code: 0 });
}, 120_000);
