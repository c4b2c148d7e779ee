import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopMachine } from '../simulation/incidents.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { startCli } from './run-cli.ts';

/** https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html */
const PROFILES = `
[profile works]
region = eu-west-1
credential_process = echo '{"Version": 1, "AccessKeyId": "AKIAEXAMPLE", "SecretAccessKey": "secret"}'
[profile signed-out]
region = eu-west-1
sso_session = company
sso_account_id = 111122223333
sso_role_name = operator
[sso-session company]
sso_region = eu-west-1
sso_start_url = https://example.awsapps.com/start
[profile nowhere]
credential_process = false
`;

let sandbox: LiveSandbox;
beforeAll(async () => {
  sandbox = await openLiveSandbox((world, { holder }) => stopMachine(world, holder));
  await writeFile(path.join(sandbox.folder, 'profiles'), PROFILES);
});
afterAll(() => sandbox.close());

/** What the shell of a person knows: a profile, but neither a region nor keys. */
const runAs = (profile: string, ...args: readonly string[]) => {
  const { AWS_ENDPOINT_URL_EC2 = '' } = sandbox.environment;
  const environment = {
    AWS_ENDPOINT_URL_EC2,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: path.join(sandbox.folder, 'profiles'),
    AWS_PROFILE: profile,
    HOME: sandbox.folder,
    PATH: '/usr/bin:/bin',
  };
  return startCli(args, { kubeconfig: sandbox.kubeconfig, environment });
};

describe('a profile of the AWS CLI', () => {
  it('names the account and region that it uses', async () => {
    const { code, stdout } = await runAs('works', 'fence', sandbox.scene.holder, '--dry-run', '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { outcome: 'would-fence', dryRun: true, instance: sandbox.scene.holder },
    ]);
  });

  it('reports in the words of the SDK that nobody has signed in', async () => {
    const { code, stdout } = await runAs('signed-out', 'doctor');
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(
        /FAIL {2}aws: credentials and API access {2}— .* was not sent, because there are no credentials: .*SSO/,
      ),
    });
  });

  it('without a region leaves the region unset', async () => {
    expect(await runAs('nowhere', 'fence', sandbox.scene.holder)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no region is set: .*profile/),
    });
  });
});
