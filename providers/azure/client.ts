import { ComputeManagementClient, type ComputeManagementClientOptionalParams } from '@azure/arm-compute';
import type { DiskId, MachineId } from '../../fencing/machine.ts';
import { connections } from '../../transport/pool.ts';
import type { Passage } from '../../transport/under-permit.ts';
import { connectsBy, endsInTime, LAST, onlyArmsErrors, permitted } from './policies.ts';

type Credential = ConstructorParameters<typeof ComputeManagementClient>[0];

/** How often a long-running operation is asked about once it was accepted. */
export interface Following {
  /** Between two questions (ms), unless ARM asks for another pace. */
  readonly everyMs: number;
  readonly times: number;
}

/** Reads are retried by the SDK; an order has a client of its own, and leaves once or not at all. */
export interface AzureClients {
  readonly subscription: string;
  readonly following: Following;
  /** Ids of the OS disks, as the machines named them last: where to read, never what was read. */
  readonly osDisks: Map<MachineId, DiskId>;
  readonly reads: ComputeManagementClient;
  readonly writes: (passage: Passage) => ComputeManagementClient;
}

/** Where to call and as whom; all but the first two is for tests and unusual networks. */
export interface ClientOptions extends Pick<ComputeManagementClientOptionalParams, 'endpoint' | 'cloudSetting' | 'credentials' | 'httpClient'> {
  readonly subscription: string;
  readonly credential: Credential;
  readonly following?: Following;
}

/** Twenty seconds: as long as fencing waits before it forces what did not come off. */
const usualFollowing: Following = { everyMs: 2_000, times: 10 };

const READ_RETRIES = 2;

/** Over plain HTTP the SDK sends nothing unless told so, and never a token: an endpoint of tests and demonstrations. */
const open = (subscription: string, credential: Credential, options: ComputeManagementClientOptionalParams): ComputeManagementClient => {
  const client = new ComputeManagementClient(credential, subscription, { ...options, retryOptions: { maxRetries: READ_RETRIES } });
  client.pipeline.addPolicy(endsInTime);
  client.pipeline.addPolicy(onlyArmsErrors);
  client.pipeline.addPolicy(connectsBy(connections()));
  if (options.allowInsecureConnection) client.pipeline.removePolicy({ name: 'bearerTokenAuthenticationPolicy' });
  return client;
};

/** An order goes through the same policies as a read, with the same token and connections; but it is neither sent again nor sent elsewhere. */
const orderPipeline = ({ pipeline }: ComputeManagementClient) => {
  const once = pipeline.clone();
  once.removePolicy({ name: 'defaultRetryPolicy' });
  once.removePolicy({ name: 'redirectPolicy' });
  return once;
};

export const azureClients = ({ subscription, credential, following = usualFollowing, ...where }: ClientOptions): AzureClients => {
  const allowInsecureConnection = where.endpoint?.startsWith('http://') ?? false;
  const options: ComputeManagementClientOptionalParams = { ...where, allowInsecureConnection, userAgentOptions: { userAgentPrefix: 'cloudfence' } };
  const reads = open(subscription, credential, options);
  const writes = (passage: Passage): ComputeManagementClient => {
    const pipeline = orderPipeline(reads);
    pipeline.addPolicy(permitted(passage), LAST);
    return new ComputeManagementClient(credential, subscription, { ...options, pipeline });
  };
  return { subscription, following, osDisks: new Map(), reads, writes };
};
