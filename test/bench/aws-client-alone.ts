import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';

/** The least that a question to EC2 needs: the SDK's client, with one signed call. Nothing of Cloudfence is loaded. */
export const handler = ({ machine }: { readonly machine: string }) =>
  new EC2Client({}).send(new DescribeInstancesCommand({ InstanceIds: [machine] }));
