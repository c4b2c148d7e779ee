import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import type { CloudServer } from '../../sandbox/cloud-server.ts';
import { openEc2Server } from '../../sandbox/ec2/ec2-server.ts';
import { ec2WorldOf } from '../providers/aws/another-world.ts';
import { openSts, type StsStandIn } from '../providers/aws/sts-stand-in.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { startCli } from './run-cli.ts';

/** The machines of the cluster are in another account and region than the credentials of the person. */
const ROLE = { arn: `arn:aws:iam::${SANDBOX_ACCOUNT}:role/cloudfence-other`, externalId: 'from-home' };
const HOUR = 3_600_000;

let sandbox: LiveSandbox;
let home: CloudServer;
let sts: StsStandIn;

beforeAll(async () => {
  sandbox = await openLiveSandbox((world, scene) => stopMachine(world, scene.holder));
  home = await openEc2Server(ec2WorldOf('999900001111', 'us-east-1'));
  sts = await openSts([ROLE], HOUR);
});
afterAll(async () => void (await Promise.all([sandbox.close(), home.close(), sts.close()])));

const cli = async (command: readonly string[], externalId: string) => {
  const config = path.join(sandbox.folder, `${externalId}.yaml`);
  const territory = {
    account: SANDBOX_ACCOUNT,
    region: SANDBOX_REGION,
    role: ROLE.arn,
    externalId,
    endpoint: sandbox.environment['AWS_ENDPOINT_URL_EC2'],
  };
  await writeFile(config, stringify({ region: 'us-east-1', territories: [territory] }));
  return startCli([...command, '--config', config], sandbox, {
    environment: { AWS_ENDPOINT_URL_EC2: home.url, AWS_ENDPOINT_URL_STS: sts.url },
  });
};

it('doctor checks and names every territory', async () => {
  const well = await cli(['doctor'], ROLE.externalId);
  expect(well.stdout).toMatch(/^ok {4}aws: credentials and API access {2}— .* work in us-east-1$/m);
  expect(well.stdout).toMatch(
    /^ok {4}aws 111122223333 eu-west-1: credentials and API access {2}— .* work in eu-west-1$/m,
  );
  expect(well.stdout).toMatch(
    /^ok {4}aws 111122223333 eu-west-1: may detach disks {2}— EC2 would allow ec2:DetachVolume; tried on vol-/m,
  );
  expect(well.code).toBe(0);
});

it('doctor says which role cannot be assumed', async () => {
  const ill = await cli(['doctor'], 'guessed');
  expect(ill.stdout).toContain(
    `FAIL  aws ${SANDBOX_ACCOUNT} ${SANDBOX_REGION}: credentials and API access  — Cloudfence cannot assume the role ${ROLE.arn}: sts:AssumeRole returned AccessDenied`,
  );
  expect(ill.code).toBe(1);
});

it('fence looks for a machine in every territory', async () => {
  const { stdout, code } = await cli(['fence', sandbox.scene.holder, '--dry-run', '--json'], ROLE.externalId);
  expect({ code, answer: JSON.parse(stdout) }).toMatchObject({
    code: 0,
    answer: { outcome: 'would-fence', instance: sandbox.scene.holder, dryRun: true },
  });
});

it('fence refuses a machine of an unserved region, and says what to set', async () => {
  const fence = ['fence', sandbox.scene.holder, '--json', '--region', 'us-east-1'];
  const { stdout, code } = await startCli(fence, sandbox, { environment: { AWS_ENDPOINT_URL_EC2: home.url } });
  expect({ code, answer: JSON.parse(stdout) }).toMatchObject({
    code: 4,
    answer: {
      outcome: 'refused',
      reason: expect.stringMatching(new RegExp(`^scope-not-served: .*${SANDBOX_REGION}.*territories`)),
      steps: [],
    },
  });
});
