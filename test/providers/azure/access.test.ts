import { afterEach, describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { aksKubeconfig, aksTokenProvider, readVaultSecret } from '../../../providers/azure/plugin/access.ts';
import type { RestOptions } from '../../../providers/azure/rest.ts';
import { armScope } from '../../../providers/azure/client.ts';
import { type Answered, openStandIn, type StandIn } from '../stand-in.ts';

let standIn: StandIn | undefined;
afterEach(() => standIn?.close());

const patient = (): AbortSignal => new AbortController().signal;
const MINUTE = 60_000;

/** Issues tokens that contain their audience and their number. */
const entra = (lastsMs = 60 * MINUTE, now = () => 0) => {
  const scopes: (string | string[])[] = [];
  const getToken = async (wanted: string | string[]) => {
    scopes.push(wanted);
    return { token: `${String(wanted)} #${scopes.length}`, expiresOnTimestamp: now() + lastsMs };
  };
  return { credential: { getToken }, scopes };
};

const cluster = { subscription: '11112222-3333-4444-8555-666677778888', resourceGroup: 'Blue Group', cluster: 'blue' };

const asked = async (answer: Answered) => {
  standIn = await openStandIn(() => answer);
  return aksKubeconfig({ ...entra(), endpoint: standIn.url }, cluster, patient());
};

describe('the access to an AKS cluster', () => {
  it('is the kubeconfig that AKS gives to users, requested at its own path', async () => {
    expect(
      await asked({
        body: { kubeconfigs: [{ name: 'clusterUser', value: Buffer.from('kind: Config').toString('base64') }] },
      }),
    ).toBe('kind: Config');
    const path =
      '/subscriptions/11112222-3333-4444-8555-666677778888/resourceGroups/Blue%20Group/providers/Microsoft.ContainerService/managedClusters/blue';
    expect(standIn?.asked).toEqual([
      {
        method: 'POST',
        url: `${path}/listClusterUserCredential?api-version=2024-09-01&format=exec`,
        authorization: null,
      },
    ]);
  });

  it.each([
    [403, 'AuthorizationFailed', PermissionDenied],
    [401, 'InvalidAuthenticationToken', PermissionDenied],
    [404, 'ResourceNotFound', Refused],
  ])('is denied if the answer is %i %s', async (status, code, kind) => {
    await expect(asked({ status, body: { error: { code } } })).rejects.toMatchObject({
      message: expect.stringContaining(code),
      constructor: kind,
    });
  });

  it.each([{ kubeconfigs: [] }, 'no JSON at all', { kubeconfigs: [{ value: '§' }] }])(
    'is unavailable if the answer is %j',
    async (body) => {
      await expect(asked({ body })).rejects.toBeInstanceOf(Unavailable);
    },
  );

  it('does not follow a redirect', async () => {
    const elsewhere = await openStandIn(() => ({}));
    await expect(asked({ status: 307, headers: { location: elsewhere.url } })).rejects.toBeInstanceOf(Unavailable);
    expect(elsewhere.asked).toEqual([]);
    await elsewhere.close();
  });

  it('uses a token for AKS, and renews it five minutes before its end and not sooner', async () => {
    let now = 0;
    const identity = entra(60 * MINUTE, () => now);
    const token = aksTokenProvider(identity, () => now);
    const first = await token();
    expect(first).toBe('6dae42f8-4368-4678-94ff-3960e28e3630/.default #1');
    now = 54 * MINUTE;
    expect(await token()).toBe(first);
    now = 55 * MINUTE;
    expect(await token()).toMatch(/#2$/);
  });

  it('is denied without a token', async () => {
    await expect(aksTokenProvider({ credential: { getToken: async () => null } }, () => 0)()).rejects.toBeInstanceOf(
      PermissionDenied,
    );
    const noIdentity = () => Promise.reject(Object.assign(new Error('none'), { name: 'CredentialUnavailableError' }));
    await expect(aksTokenProvider({ credential: { getToken: noIdentity } }, () => 0)()).rejects.toBeInstanceOf(
      PermissionDenied,
    );
  });
});

/** Over https without a network: records what would be sent, and with which token. */
const behindTls = (status: number, body: object) => {
  const sent: { readonly url: string; readonly authorization: string | undefined }[] = [];
  const httpClient: NonNullable<RestOptions['httpClient']> = {
    sendRequest: async (request) => {
      sent.push({ url: request.url, authorization: request.headers.get('authorization') });
      return { request, status, headers: request.headers, bodyAsText: JSON.stringify(body) };
    },
  };
  return { sent, options: { ...entra(), httpClient } };
};

describe('a secret in a Key Vault', () => {
  it('is read from the named vault, and over plain http without a token', async () => {
    standIn = await openStandIn(() => ({ body: { value: 'kind: Config', id: 'x' } }));
    expect(await readVaultSecret(entra(), { vault: standIn.url, secret: 'kube' }, patient())).toBe('kind: Config');
    expect(standIn.asked).toEqual([{ method: 'GET', url: '/secrets/kube?api-version=7.4', authorization: null }]);
  });

  it.each([
    ['blue', 'https://blue.vault.azure.net', 'https://vault.azure.net/.default'],
    ['blue.vault.azure.cn', 'https://blue.vault.azure.cn', 'https://vault.azure.cn/.default'],
    [
      'https://blue.vault.usgovcloudapi.net/',
      'https://blue.vault.usgovcloudapi.net',
      'https://vault.usgovcloudapi.net/.default',
    ],
  ])('of %s is requested with a token for that cloud’s vaults', async (vault, host, scope) => {
    const { sent, options } = behindTls(200, { value: 'text' });
    await readVaultSecret(options, { vault, secret: 'kube' }, patient());
    expect(sent).toEqual([{ url: `${host}/secrets/kube?api-version=7.4`, authorization: `Bearer ${scope} #1` }]);
  });

  it.each([
    [403, PermissionDenied],
    [404, Refused],
  ])('is not returned if the answer is %i', async (status, kind) => {
    const { options } = behindTls(status, { error: { code: 'Forbidden' } });
    await expect(readVaultSecret(options, { vault: 'blue', secret: 'kube' }, patient())).rejects.toBeInstanceOf(kind);
  });
});

it.each([
  [null, 'https://management.azure.com/.default'],
  ['https://management.chinacloudapi.cn', 'https://management.chinacloudapi.cn/.default'],
  ['https://management.usgovcloudapi.net/', 'https://management.usgovcloudapi.net/.default'],
  ['https://arm.private.example', 'https://management.azure.com/.default'],
])('a token for ARM at %s is a token for %s', (endpoint, scope) => expect(armScope(endpoint)).toBe(scope));
