import { DisksClient } from '@google-cloud/compute/build/src/v1/disks_client.js';
import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { RegionDisksClient } from '@google-cloud/compute/build/src/v1/region_disks_client.js';
import { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import { GoogleAuth, PassThroughClient } from 'google-auth-library';
import { inProcessFetch, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import type { GceWorld } from '../../../sandbox/gce/state.ts';

const present: { fetch: InProcessFetch | null } = { fetch: null };

const route: InProcessFetch = (input, init) => {
  if (!present.fetch) throw new Error('no world has been asked for yet');
  return present.fetch(input, init);
};

const auth = new GoogleAuth({
  authClient: new PassThroughClient({ transporterOptions: { fetchImplementation: route } }),
});
const options = { fallback: true, auth, protocol: 'http', apiEndpoint: 'sandbox.invalid', port: 80 };
const hand = {
  instances: new InstancesClient({ ...options }),
  disks: new DisksClient({ ...options }),
  regionDisks: new RegionDisksClient({ ...options }),
  operations: new ZoneOperationsClient({ ...options }),
};

/** The SDK as anyone may use it, without a network and without permits, for the world that was requested last. */
export const handOf = (world: GceWorld, fetch = inProcessFetch(world)): typeof hand => {
  present.fetch = fetch;
  return hand;
};
