import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { PermissionDenied } from '../../../fencing/model/errors.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients } from '../../../providers/gcp/client.ts';
import { inProcessFetch, wireCall, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { addInstance } from '../../../sandbox/gce/scenario.ts';
import { gceWorld, patient, requestIds } from '../../sandbox/gce/gce-world.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = {
  client_email: 'fence@my-project.iam.gserviceaccount.com',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
};

/** Clients over https that get a token first. `tokens` is its source. */
const behindTokens = (tokens: () => Response) => {
  const world = gceWorld();
  const machine = addInstance(world);
  const through = inProcessFetch(world);
  const bearers: (string | null)[] = [];
  const fetch: InProcessFetch = async (input, init) => {
    if (!wireCall(input, init).url.startsWith('/compute/')) return tokens();
    bearers.push(
      new Headers(init && 'headers' in init && init.headers instanceof Headers ? init.headers : {}).get(
        'authorization',
      ),
    );
    return through(input, init);
  };
  const clients = computeClients({ newRequestId: requestIds(), endpoint: 'https://sandbox.invalid', fetch });
  clients.instances.auth.jsonContent = { type: 'service_account', ...key };
  return { clients, machine, bearers };
};

const NONE = new Error('Could not load the default credentials');

describe('the credentials of Google Cloud', () => {
  it('are a denial of permission if there are none, and the process continues', async () => {
    const { clients, machine } = behindTokens(() => Response.json({}));
    clients.instances.auth.getClient = () => Promise.reject(NONE);
    await expect(gcpCloud(clients).look([machine], { disks: true }, patient())).rejects.toBeInstanceOf(
      PermissionDenied,
    );
    await expect(gcpCloud(clients).look([machine], { disks: true }, patient())).rejects.toMatchObject({
      cause: expect.any(Error),
    });
  });

  it('are found later if they were not at first', async () => {
    const { clients, machine, bearers } = behindTokens(() =>
      Response.json({ access_token: 'secret', expires_in: 3600 }),
    );
    const { auth } = clients.instances;
    const getClient = auth.getClient.bind(auth);
    auth.getClient = () => Promise.reject(NONE);
    await expect(gcpCloud(clients).look([machine], { disks: false }, patient())).rejects.toBeInstanceOf(
      PermissionDenied,
    );
    auth.getClient = getClient;
    expect(await gcpCloud(clients).look([machine], { disks: false }, patient())).toMatchObject([{ power: 'running' }]);
    expect(bearers).toEqual(['Bearer secret']);
  });
});

it.each([400, 401, 403])('a token service that answers %i denies every call that needs a token', async (status) => {
  const { clients, machine, bearers } = behindTokens(() => Response.json({ error: 'invalid_grant' }, { status }));
  await expect(gcpCloud(clients).look([machine], { disks: false }, patient())).rejects.toBeInstanceOf(PermissionDenied);
  expect(bearers).toEqual([]);
});
