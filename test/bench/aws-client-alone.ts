import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';

/** The least that a call to EC2 needs: the client of the SDK, with one signed call. Nothing of Cloudfence is loaded. */
export const handler = ({ machine }: { readonly machine: string }) =>
  new EC2Client({}).send(new DescribeInstancesCommand({ InstanceIds: [machine] }));
