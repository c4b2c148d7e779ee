import { type EC2ClientConfig, EC2Client, type Volume } from '@aws-sdk/client-ec2';
import type { OnRequestsSent } from '../plugin.ts';
import { createConnectionPool } from '../../transport/connections.ts';
import type { PermittedPath } from '../../transport/under-permit.ts';
import { Unavailable } from '../../fencing/model/errors.ts';
import { declinedWith } from './errors.ts';

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
      // If our clock is wrong, EC2 rejects the signature. A read is then sent again, but a destructive call is not.
      systemClockOffset: reads.config.systemClockOffset,
      maxAttempts: 1,
    });
  };
  return { reads, writes };
};

// Ensures that an answer comes from EC2. The SDK accepts any XML as an answer, even a proxy's page or an empty body,
// and leaves out the fields that it does not find. So the fields that EC2 always sends must be present.

/** Returns the items. EC2 always sends a list, even an empty one. @throws Unavailable if there is no list */
export const requireList = <T>(items: readonly T[] | undefined, call: string): readonly T[] => {
  if (items) return items;
  throw new Unavailable(`the response to ${call} contains no list, so it is not from EC2`);
};

/**
 * Returns the volumes. EC2 always reports the attachments of a volume, even if there are none.
 *
 * @throws Unavailable if a volume has no such field
 */
export const requireAttachments = (volumes: readonly Volume[] | undefined): readonly Volume[] => {
  const all = requireList(volumes, 'ec2:DescribeVolumes');
  if (all.every(({ VolumeId, Attachments }) => VolumeId !== undefined && Attachments !== undefined)) return all;
  throw new Unavailable(
    'the response to ec2:DescribeVolumes contains a volume without attachments, so it is not from EC2',
  );
};

/** How to handle an id that EC2 rejects. One invalid id makes EC2 reject the whole call. */
interface BadIds<T> {
  /** Error codes about an id, not about the call. */
  readonly codes: ReadonlySet<string>;
  /** Converts such a code into the result for the only remaining id. */
  readonly verdict: (id: string, code: string) => T;
}

/**
 * Reads all ids in one call. If EC2 rejects one of them, reads each half separately, so that the other ids still get
 * their answer.
 */
export const askSkippingBadIds = async <T>(
  ids: readonly string[],
  ask: (ids: readonly string[]) => Promise<readonly T[]>,
  bad: BadIds<T>,
): Promise<readonly T[]> => {
  try {
    return await ask(ids);
  } catch (caught) {
    const code = declinedWith(caught);
    if (code === null || !bad.codes.has(code)) throw caught;
    const [first] = ids;
    if (first !== undefined && ids.length === 1) return [bad.verdict(first, code)];
    const middle = Math.ceil(ids.length / 2);
    const left = await askSkippingBadIds(ids.slice(0, middle), ask, bad);
    return [...left, ...(await askSkippingBadIds(ids.slice(middle), ask, bad))];
  }
};

export const chunksOf = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  items.length <= size
    ? items.length === 0
      ? []
      : [items]
    : [items.slice(0, size), ...chunksOf(items.slice(size), size)];
