import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { PermissionDenied, ProofExpired } from '../../../fencing/model/errors.ts';
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

/** Clients over https that first get a token from `tokens`. */
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
  it('are a denial if there are none, and the process continues', async () => {
    const { clients, machine } = behindTokens(() => Response.json({}));
    clients.instances.auth.getClient = () => Promise.reject(NONE);
    await expect(gcpCloud(clients).look([machine], { disks: true }, patient())).rejects.toBeInstanceOf(
      PermissionDenied,
    );
    await expect(gcpCloud(clients).look([machine], { disks: true }, patient())).rejects.toMatchObject({
      cause: expect.any(Error),
    });
  });

  it('are missing in one sentence, without the warning of the library about the metadata server', async () => {
    const warnings: string[] = [];
    const heard = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', heard);
    // Another test file of this process may have replaced `process.emitWarning` since the module was loaded.
    vi.resetModules();
    const { createAuth, loadCredentials } = await import('../../../providers/gcp/credentials.ts');
    const auth = createAuth({});
    auth.getClient = async () => {
      process.emitWarning('received unexpected error = fetch failed code = EPROTO', 'MetadataLookupWarning');
      process.emitWarning('something else', 'OtherWarning');
      return Promise.reject(NONE);
    };
    await expect(loadCredentials(auth)).rejects.toThrow(
      /^there are no credentials for Google Cloud \(the metadata server cannot be reached: EPROTO\): run `gcloud /,
    );
    await new Promise(setImmediate);
    process.off('warning', heard);
    expect(warnings).toEqual(['OtherWarning']);
  });

  it('are found later if there were none at first', async () => {
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

it.each([400, 401, 403])('are denied for every call if the token service answers %i', async (status) => {
  const { clients, machine, bearers } = behindTokens(() => Response.json({ error: 'invalid_grant' }, { status }));
  await expect(gcpCloud(clients).look([machine], { disks: false }, patient())).rejects.toBeInstanceOf(PermissionDenied);
  expect(bearers).toEqual([]);
});

const user = { type: 'authorized_user', client_id: 'id', client_secret: 'secret', refresh_token: 'refresh' };
const tokenUrl = 'https://sts.googleapis.com/v1/token';

/** https://cloud.google.com/docs/authentication/application-default-credentials */
const files = {
  'a person': user,
  'a key of a service account': { type: 'service_account', ...key },
  'a service account that a person impersonates': {
    type: 'impersonated_service_account',
    service_account_impersonation_url:
      'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@p.iam.gserviceaccount.com:generateAccessToken',
    delegates: [],
    source_credentials: user,
  },
  'workload identity': {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: tokenUrl,
    credential_source: { file: '/nowhere' },
  },
  'a person of a workforce pool': {
    ...user,
    type: 'external_account_authorized_user',
    audience: '//iam.googleapis.com/locations/global/workforcePools/p/providers/q',
    token_url: tokenUrl,
    token_info_url: 'https://sts.googleapis.com/v1/introspect',
  },
};

describe.each(Object.entries(files))('with the credentials of %s', (_who, file) => {
  it('no destructive call is sent without a permit', async () => {
    const left: string[] = [];
    const fetch: InProcessFetch = async (input, init) => {
      left.push(wireCall(input, init).url);
      return Response.json({});
    };
    const clients = computeClients({ newRequestId: requestIds(), endpoint: 'https://sandbox.invalid', fetch });
    clients.instances.auth.jsonContent = file;
    await clients.ready();
    const { transporter } = await clients.instances.auth.getClient();
    const instance = new URL('https://sandbox.invalid/compute/v1/projects/p/zones/z/instances/i');
    await transporter.request({ url: instance, method: 'GET' });
    expect(left).toHaveLength(1);
    const detach = transporter.request({ url: `${instance.href}/detachDisk`, method: 'POST' });
    await expect(detach).rejects.toMatchObject({ cause: expect.any(ProofExpired) });
    expect(left).toHaveLength(1);
  });
});
