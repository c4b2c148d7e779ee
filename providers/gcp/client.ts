import { DisksClient } from '@google-cloud/compute/build/src/v1/disks_client.js';
import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { RegionDisksClient } from '@google-cloud/compute/build/src/v1/region_disks_client.js';
import { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import { GoogleAuth, PassThroughClient } from 'google-auth-library';
import { Denied } from '../../fencing/errors.ts';
import { guardedTransport, type Fetch, type GuardedTransport } from './transport.ts';

/** The four services that are used, by deep imports: the package's index loads a hundred of them, and 30 MB. */
export interface ComputeClients {
  /** No credentials are sent. */
  readonly anonymous: boolean;
  readonly instances: InstancesClient;
  readonly disks: DisksClient;
  readonly regionDisks: RegionDisksClient;
  readonly operations: ZoneOperationsClient;
  /** Finds the credentials, which every call needs first: for want of them, the SDK itself ends the whole process. @throws Denied */
  readonly ready: () => Promise<void>;
  /** Sends one destructive call under its permit; a call without one never leaves. */
  readonly permitted: GuardedTransport['permitted'];
}

export interface ClientOptions {
  /** A new UUID for each destructive call, by which Compute Engine knows a call that arrives twice. */
  readonly newRequestId: () => string;
  /** URL of another endpoint, for tests and unusual networks. Over plain http no credentials are sent. */
  readonly endpoint?: string;
  /** In the place of the network. */
  readonly fetch?: Fetch;
}

const SCOPES = ['https://www.googleapis.com/auth/compute'];

export const computeClients = ({ newRequestId, endpoint, fetch }: ClientOptions): ComputeClients => {
  const { adapter, permitted } = guardedTransport(newRequestId);
  const transporterOptions = { adapter, ...(fetch && { fetchImplementation: fetch }) };
  const place = endpoint === undefined ? null : placeOf(endpoint);
  const anonymous = place?.protocol === 'http';
  const auth: GoogleAuth = anonymous
    ? new GoogleAuth({ authClient: new PassThroughClient({ transporterOptions }) })
    : new GoogleAuth({ scopes: SCOPES, clientOptions: { transporterOptions } });
  const options = { fallback: true, auth, libName: 'cloudfence', libVersion: '0', ...place };
  return {
    anonymous,
    ready: () => credentialsIn(auth),
    instances: new InstancesClient({ ...options }),
    disks: new DisksClient({ ...options }),
    regionDisks: new RegionDisksClient({ ...options }),
    operations: new ZoneOperationsClient({ ...options }),
    permitted,
  };
};

/** @throws Denied where there are none */
export const credentialsIn = async (auth: GoogleAuth): Promise<void> => {
  try {
    await auth.getClient();
  } catch (cause) {
    throw new Denied('no credentials for Google Cloud were found', { cause });
  }
};

/** The SDK wants the parts of a URL one by one. */
const placeOf = (endpoint: string) => {
  const { protocol, hostname, port } = new URL(endpoint);
  const usual = protocol === 'http:' ? 80 : 443;
  return { protocol: protocol.slice(0, -1), apiEndpoint: hostname, port: port === '' ? usual : Number(port) };
};
