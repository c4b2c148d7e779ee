import { DescribeImagesCommand, EC2Client, RunInstancesCommand, StopInstancesCommand } from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { roleCredentials, openTerritories } from '../../../providers/aws/plugin/open-territories.ts';
import { cloudOfTerritories } from '../../../providers/aws/territories.ts';
import { awsCloud } from '../../../providers/aws/index.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { type MotoServer, startMoto } from '../../contract/provider/moto-server.ts';

/** Moto separates accounts, and gives the caller with an assumed role access to the account of that role. */
const region = 'us-east-1';
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const role = { arn: 'arn:aws:iam::222233334444:role/cloudfence-other', externalId: null };

let moto: MotoServer;
beforeAll(async () => {
  moto = await startMoto();
});
afterAll(() => moto.close());

const stoppedMachine = async (client: EC2Client): Promise<string> => {
  const { Images } = await client.send(new DescribeImagesCommand({ Owners: ['amazon'] }));
  const run = await client.send(new RunInstancesCommand({ ImageId: Images?.[0]?.ImageId, MinCount: 1, MaxCount: 1 }));
  const machine = run.Instances?.[0]?.InstanceId ?? '';
  await client.send(new StopInstancesCommand({ InstanceIds: [machine] }));
  return machine;
};

it('a stopped machine of another account is proven off with its role, and is missing without it', async () => {
  const sts = { region, endpoint: moto.url, credentials };
  const machine = await stoppedMachine(
    new EC2Client({ region: 'eu-central-1', endpoint: moto.url, credentials: roleCredentials(role, sts) }),
  );
  const own = awsCloud({ clients: ec2Clients(sts), region });
  const others = openTerritories(
    [{ account: '222233334444', region: 'eu-central-1', role: role.arn, endpoint: moto.url }],
    { account: '123456789012', region },
    sts,
  );
  const { signal } = new AbortController();
  expect(await own.look([machine], { disks: true }, signal)).toMatchObject([{ machine, power: 'missing' }]);
  const facts = await cloudOfTerritories({ name: 'home', cloud: own }, others).look([machine], { disks: true }, signal);
  expect(facts).toMatchObject([
    { machine, power: 'off', evidence: { state: 'stopped', territory: '222233334444 eu-central-1' } },
  ]);
});
