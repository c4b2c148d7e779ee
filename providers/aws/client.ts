import type { EC2ClientConfig } from '@aws-sdk/client-ec2';
import { EC2Client } from '@aws-sdk/client-ec2';

/** Two clients over the same connections: reads are retried by the SDK, destructive calls leave once or not at all. */
export interface Ec2Clients {
  readonly reads: EC2Client;
  readonly writes: EC2Client;
}

/** Where to call and as whom; all but the region is for tests and unusual networks. */
export type ClientOptions = Pick<EC2ClientConfig, 'endpoint' | 'credentials' | 'requestHandler'> & { readonly region: string };

/**
 * In ms. The connection time-out stays well below the life of a proof: a destructive call is checked before its
 * connection is made, and usually finds the warm one of the look before it.
 */
const timeouts = { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true } as const;

export const ec2Clients = (options: ClientOptions): Ec2Clients => {
  const shared: EC2ClientConfig = { requestHandler: timeouts, customUserAgent: 'cloudfence', ...options };
  const reads = new EC2Client({ ...shared, maxAttempts: 3 });
  return { reads, writes: new EC2Client({ ...shared, requestHandler: reads.config.requestHandler, maxAttempts: 1 }) };
};
