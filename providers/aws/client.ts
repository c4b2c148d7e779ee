import type { EC2ClientConfig } from '@aws-sdk/client-ec2';
import { EC2Client } from '@aws-sdk/client-ec2';
import { CONNECTING_LASTS_MS } from '../../fencing/permit.ts';

/** Two clients over the same connections and credentials: reads are retried by the SDK, destructive calls leave once or not at all. */
export interface Ec2Clients {
  readonly reads: EC2Client;
  readonly writes: EC2Client;
}

/** Where to call and as whom; all but the region is for tests and unusual networks. */
export type ClientOptions = Pick<EC2ClientConfig, 'endpoint' | 'credentials' | 'requestHandler'> & { readonly region: string };

/**
 * In ms. A destructive call is checked before its connection is made, and its permit leaves room for exactly this
 * connection time-out; usually it finds the warm connection of the look before it.
 */
export const timeouts = { connectionTimeout: CONNECTING_LASTS_MS, requestTimeout: 5_000, throwOnRequestTimeout: true } as const;

export const ec2Clients = (options: ClientOptions): Ec2Clients => {
  const shared: EC2ClientConfig = { requestHandler: timeouts, customUserAgent: 'cloudfence', ...options };
  const reads = new EC2Client({ ...shared, maxAttempts: 3 });
  const { requestHandler, credentials } = reads.config;
  return { reads, writes: new EC2Client({ ...shared, requestHandler, credentials, maxAttempts: 1 }) };
};
