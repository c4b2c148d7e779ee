import { EKSClient } from '@aws-sdk/client-eks';
import { describe, expect, it } from 'vitest';
import { InvalidConfiguration, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { readEksEndpoint, eksToken, eksTokenProvider } from '../../../providers/aws/plugin/eks.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' };
const NOON = Date.UTC(2026, 10, 21, 12);

const identity = (now: () => number, region = 'eu-central-1') => ({ cluster: 'blue', region, credentials, now });
const urlIn = (token: string): URL => new URL(Buffer.from(token.replace(/^k8s-aws-v1\./, ''), 'base64url').toString());

describe('the token for an EKS cluster', () => {
  it('is a presigned GetCallerIdentity that names the cluster in a signed header', async () => {
    const token = await eksToken(identity(() => NOON));
    expect(token).toMatch(/^k8s-aws-v1\.[\w-]+$/);
    const url = urlIn(token);
    expect(url.origin + url.pathname).toBe('https://sts.eu-central-1.amazonaws.com/');
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      Action: 'GetCallerIdentity',
      Version: '2011-06-15',
      'X-Amz-Date': '20261121T120000Z',
      'X-Amz-Expires': '60',
      'X-Amz-SignedHeaders': 'host;x-k8s-aws-id',
      'X-Amz-Credential': 'AKIDEXAMPLE/20261121/eu-central-1/sts/aws4_request',
      'X-Amz-Security-Token': 'session',
      'X-Amz-Signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('differs for each cluster, so that it opens no other cluster', async () => {
    const other = await eksToken({ ...identity(() => NOON), cluster: 'green' });
    expect(urlIn(other).searchParams.get('X-Amz-Signature')).not.toBe(
      urlIn(await eksToken(identity(() => NOON))).searchParams.get('X-Amz-Signature'),
    );
  });

  it.each([
    ['cn-north-1', 'sts.cn-north-1.amazonaws.com.cn'],
    ['us-gov-west-1', 'sts.us-gov-west-1.amazonaws.com'],
    ['eusc-de-east-1', 'sts.eusc-de-east-1.amazonaws.eu'],
  ])('asks the STS of its own partition in %s', async (region, host) => {
    expect(urlIn(await eksToken(identity(() => NOON, region))).hostname).toBe(host);
  });

  it('is kept for a while, and renewed well before its 15 minutes end', async () => {
    let now = NOON;
    const token = eksTokenProvider(identity(() => now));
    const first = await token();
    now += 9 * 60_000;
    expect(await token()).toBe(first);
    now += 60_000;
    expect(await token()).not.toBe(first);
  });

  it('is requested again if the credentials failed once', async () => {
    let failing = true;
    const provider = async () => {
      if (failing) throw new Error('no credentials yet');
      return credentials;
    };
    const token = eksTokenProvider({ ...identity(() => NOON), credentials: provider });
    await expect(token()).rejects.toBeInstanceOf(Unavailable);
    failing = false;
    expect(await token()).toMatch(/^k8s-aws-v1\./);
  });
});

describe('the endpoint of an EKS cluster', () => {
  const clientAnswering = (status: number, body: object): EKSClient =>
    new EKSClient({
      region: 'eu-central-1',
      credentials,
      maxAttempts: 1,
      requestHandler: {
        handle: async () => ({
          response: { statusCode: status, headers: {}, body: new TextEncoder().encode(JSON.stringify(body)) },
        }),
        updateHttpClientConfig: () => undefined,
        httpHandlerConfigs: () => ({}),
      },
    });
  const signal = new AbortController().signal;

  it('comes with its certificate authority', async () => {
    const client = clientAnswering(200, {
      cluster: { endpoint: 'https://blue.eks', certificateAuthority: { data: 'Q0E=' }, status: 'ACTIVE' },
    });
    expect(await readEksEndpoint(client, 'blue', signal)).toEqual({
      server: 'https://blue.eks',
      certificateAuthorityData: 'Q0E=',
    });
  });

  it('is a configuration error while the cluster is being created', async () => {
    await expect(
      readEksEndpoint(clientAnswering(200, { cluster: { status: 'CREATING' } }), 'blue', signal),
    ).rejects.toBeInstanceOf(InvalidConfiguration);
  });

  it('is refused for a cluster that does not exist', async () => {
    await expect(
      readEksEndpoint(clientAnswering(404, { __type: 'ResourceNotFoundException' }), 'blue', signal),
    ).rejects.toBeInstanceOf(Refused);
  });
});
