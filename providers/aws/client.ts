import type { EC2ClientConfig } from '@aws-sdk/client-ec2';
import { EC2Client } from '@aws-sdk/client-ec2';
import type { OnRequestsSent } from '../plugin.ts';
import { createConnectionPool, type PermittedPath } from '../../transport/under-permit.ts';

/**
 * Clients that share connections and credentials. The SDK retries reads. Each destructive call gets its own client and
 * is sent at most once.
 */
export interface Ec2Clients {
  readonly reads: EC2Client;
  readonly writes: (passage: PermittedPath) => EC2Client;
}

/** Where to send calls, and with which credentials. Everything except the region is for tests and unusual networks. */
export type ClientOptions = Pick<EC2ClientConfig, 'endpoint' | 'credentials' | 'requestHandler'> & {
  readonly region: string;
  readonly onRequestsSent?: OnRequestsSent | undefined;
};

/** In ms. The permit, not a timeout here, limits how long a destructive call waits for its connection. */
const answering = { requestTimeout: 5_000, throwOnRequestTimeout: true } as const;
export const timeouts = { connectionTimeout: 1_000, ...answering } as const;

export const ec2Clients = ({ requestHandler, onRequestsSent, ...options }: ClientOptions): Ec2Clients => {
  const { http, https } = createConnectionPool(onRequestsSent);
  const shared: EC2ClientConfig = { customUserAgent: 'cloudfence', ...options };
  const reads = new EC2Client({
    ...shared,
    requestHandler: requestHandler ?? { ...timeouts, httpAgent: http, httpsAgent: https },
    maxAttempts: 3,
  });
  const writes = ({ through }: PermittedPath): EC2Client => {
    const held = { ...answering, httpAgent: through(http), httpsAgent: through(https) };
    return new EC2Client({
      ...shared,
      requestHandler: requestHandler ?? held,
      credentials: reads.config.credentials,
      maxAttempts: 1,
    });
  };
  return { reads, writes };
};
