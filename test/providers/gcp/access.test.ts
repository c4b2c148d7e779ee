import { generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { PermissionDenied, InvalidConfiguration, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { readGkeEndpoint, gkeTokenProvider, readSecret, platformAuth } from '../../../providers/gcp/plugin/access.ts';
import type { Fetch } from '../../../providers/gcp/client.ts';
import { type Answered, openStandIn, type StandIn } from '../stand-in.ts';

let standIn: StandIn | undefined;
afterEach(() => standIn?.close());

const patient = (): AbortSignal => new AbortController().signal;
const cluster = { project: 'my-project', location: 'europe-west1', cluster: 'blue' };
const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const masterAuth = { clusterCaCertificate: Buffer.from(ca).toString('base64') };
const dns = { endpoint: 'gke-1234.europe-west1.gke.goog', allowExternalTraffic: true };

const described = async (answer: Answered) => {
  standIn = await openStandIn(() => answer);
  const options = { endpoint: standIn.url };
  return readGkeEndpoint(platformAuth(options), options, cluster, patient());
};

describe('the access to a GKE cluster', () => {
  it('is the address that the container API returns, with its certificate authority', async () => {
    expect(await described({ body: { endpoint: '203.0.113.7', masterAuth, status: 'RUNNING' } })).toEqual({
      server: 'https://203.0.113.7',
      ca,
    });
    expect(standIn?.asked).toEqual([
      { method: 'GET', url: '/v1/projects/my-project/locations/europe-west1/clusters/blue', authorization: null },
    ]);
  });

  const private_ = { ipEndpointsConfig: { enabled: true, enablePublicEndpoint: false } };
  it.each([
    [
      'its name if the address is private',
      { ...private_, dnsEndpointConfig: dns },
      { server: 'https://gke-1234.europe-west1.gke.goog', ca: null },
    ],
    [
      'its name if it has no address',
      { ipEndpointsConfig: { enabled: false }, dnsEndpointConfig: dns },
      { server: 'https://gke-1234.europe-west1.gke.goog', ca: null },
    ],
    [
      'the private address if the name cannot be used from outside',
      { ...private_, dnsEndpointConfig: { ...dns, allowExternalTraffic: false } },
      { server: 'https://10.0.0.2', ca },
    ],
    [
      'the address if it is public as well',
      { ipEndpointsConfig: { enabled: true, enablePublicEndpoint: true }, dnsEndpointConfig: dns },
      { server: 'https://10.0.0.2', ca },
    ],
  ])('is %s', async (_, controlPlaneEndpointsConfig, way) => {
    expect(await described({ body: { endpoint: '10.0.0.2', masterAuth, controlPlaneEndpointsConfig } })).toEqual(way);
  });

  it('is not available while the cluster is being created', async () => {
    await expect(described({ body: { status: 'PROVISIONING' } })).rejects.toThrow(
      new InvalidConfiguration(['GKE cluster blue has no endpoint: its status is PROVISIONING']),
    );
  });

  it.each([
    [403, PermissionDenied],
    [401, PermissionDenied],
    [404, Refused],
  ])('is denied if the answer is %i', async (status, kind) => {
    await expect(described({ status, body: { error: { code: status, message: 'no' } } })).rejects.toBeInstanceOf(kind);
  });

  it('is unavailable if the answer is something else', async () => {
    await expect(described({ body: { masterAuth: { clusterCaCertificate: 7 } } })).rejects.toBeInstanceOf(Unavailable);
  });
});

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = {
  type: 'service_account',
  client_email: 'fence@my-project.iam.gserviceaccount.com',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
};

/** Over https without a network. `tokens` answers requests for a token. */
const behindTls = (tokens: () => Response, body: object = {}) => {
  const sent: (readonly [string, string | null])[] = [];
  const fetch: Fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (url.includes('/token')) return tokens();
    sent.push([url, new Headers(init?.headers).get('authorization')]);
    return Response.json(body);
  };
  const options = { endpoint: null, fetch };
  const auth = platformAuth(options);
  auth.jsonContent = key;
  return { sent, options, auth };
};

const oneToken = () => Response.json({ access_token: 'secret', expires_in: 3600 });

describe('a token for GKE', () => {
  it('is kept as long as it is valid', async () => {
    let given = 0;
    const { auth } = behindTls(() => {
      given += 1;
      return oneToken();
    });
    const token = gkeTokenProvider(auth);
    expect([await token(), await token(), given]).toEqual(['secret', 'secret', 1]);
  });

  it.each([400, 401, 403])('is denied if the service answers %i', async (status) => {
    const { auth } = behindTls(() => Response.json({ error: 'invalid_grant' }, { status }));
    await expect(gkeTokenProvider(auth)()).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('is denied without credentials', async () => {
    const { auth } = behindTls(oneToken);
    auth.getClient = () => Promise.reject(new Error('Could not load the default credentials'));
    await expect(gkeTokenProvider(auth)()).rejects.toBeInstanceOf(PermissionDenied);
  });
});

describe('a secret in Secret Manager', () => {
  const payload = { payload: { data: Buffer.from('kind: Config').toString('base64') } };

  it('is read from the named endpoint, and over plain http without a token', async () => {
    standIn = await openStandIn(() => ({ body: payload }));
    const options = { endpoint: standIn.url };
    expect(
      await readSecret(
        platformAuth(options),
        options,
        { secret: 'projects/p/secrets/kube', version: 'latest' },
        patient(),
      ),
    ).toBe('kind: Config');
    expect(standIn.asked).toEqual([
      { method: 'GET', url: '/v1/projects/p/secrets/kube/versions/latest:access', authorization: null },
    ]);
  });

  it.each([
    ['projects/p/secrets/kube', 'https://secretmanager.googleapis.com/v1/projects/p/secrets/kube/versions/3:access'],
    [
      'projects/p/locations/europe-west3/secrets/kube',
      'https://secretmanager.europe-west3.rep.googleapis.com/v1/projects/p/locations/europe-west3/secrets/kube/versions/3:access',
    ],
  ])('%s is requested with a token in its location', async (secret, url) => {
    const { sent, options, auth } = behindTls(oneToken, payload);
    expect(await readSecret(auth, options, { secret, version: '3' }, patient())).toBe('kind: Config');
    expect(sent).toEqual([[url, 'Bearer secret']]);
  });
});
