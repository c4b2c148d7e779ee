import { apiOf, createAwsSandbox, EBS, SANDBOX_ACCOUNT, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { handleEc2 } from '../../sandbox/ec2/query.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { addMachine } from '../../sandbox/scenes/ec2-database.ts';
import { stopMachine } from '../simulation/incidents.ts';
import type { CloudSandbox, Start } from './cloud-sandbox.ts';

export const openSandbox = (start: Start): CloudSandbox => {
  const world: AwsWorld = createAwsSandbox(start);
  return {
    world,
    addMachine: () => addMachine(world),
    nodeOf: (machine) => instanceIn(world, machine)?.privateDnsName ?? '',
    addDisk: () => {
      const handle = addVolume(world);
      return { driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' };
    },
    stop: (machine) => stopMachine(world, machine),
    api: (settings) => apiOf(world, settings),
    answer: ({ body }) => {
      const params = new URLSearchParams(String(body));
      const { status, body: xml, requestId } = handleEc2(world, params);
      const headers = { 'content-type': 'text/xml;charset=UTF-8', 'x-amzn-requestid': requestId };
      return { call: params.get('Action') ?? '', status, headers, body: xml };
    },
    offStates: /<name>(stopped|terminated)<\/name>/,
    environment: (url) => ({
      AWS_ENDPOINT_URL_EC2: url,
      AWS_ACCESS_KEY_ID: 'sandbox',
      AWS_SECRET_ACCESS_KEY: 'sandbox',
      AWS_REGION: 'eu-west-1',
      AWS_EC2_METADATA_DISABLED: 'true',
      CLOUDFENCE_ACCOUNT: SANDBOX_ACCOUNT,
    }),
  };
};
