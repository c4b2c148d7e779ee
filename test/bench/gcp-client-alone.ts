import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { GoogleAuth } from 'google-auth-library';

const { hostname, port } = new URL(process.env['CLOUDFENCE_GCP_ENDPOINT'] ?? '');

/**
 * The least that a call to Google Cloud needs: the client of the SDK, with one token. Nothing of Cloudfence is loaded.
 */
export const handler = ({ machine }: { readonly machine: string }) => {
  const [project = '', zone = '', instance = ''] = machine.split('/').filter((_, nth) => nth % 2 === 1);
  const auth = new GoogleAuth({ scopes: ['https://www.googleapis.com/auth/compute'], projectId: '-' });
  const client = new InstancesClient({ fallback: true, auth, apiEndpoint: hostname, port: Number(port) });
  return client.get({ project, zone, instance });
};
