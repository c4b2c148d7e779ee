import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { KubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { awsAccess } from '../../providers/aws/plugin/access.ts';
import { connectCluster } from '../../app/connect-cluster.ts';
import { FENCE_TOKEN } from '../contract/cluster/sandbox-harness.ts';
import { unhurried } from '../contract/cluster/harness.ts';
import { openStandIn, type Answered, type Request, type StandIn } from '../providers/stand-in.ts';
import { base64, entryIn, identitiesIn, known, kubeconfigOf, openApi } from './access-server.ts';

/** From an entry of the configuration to an answer of the API server, over real sockets. */

const HOME = 'eu-central-1';

let apiServer: KubernetesServer;
let aws: StandIn;

const parameter = z.object({ Name: z.string(), WithDecryption: z.boolean().default(false) });
const encrypted = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Answers as EKS, Secrets Manager, and Parameter Store do. The parameter is a SecureString.
 * https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeCluster.html
 * https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 * https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html
 */
const answer = ({ url, headers, body }: Request): Answered => {
  const kubeconfig = kubeconfigOf(apiServer, { token: FENCE_TOKEN });
  if (url.startsWith('/clusters/'))
    return { body: { cluster: { endpoint: apiServer.url, certificateAuthority: { data: base64(apiServer.caData) } } } };
  if (headers['x-amz-target'] === 'secretsmanager.GetSecretValue') return { body: { SecretString: kubeconfig } };
  const { Name, WithDecryption } = parameter.parse(JSON.parse(String(body)));
  return { body: { Parameter: { Name, Value: WithDecryption ? kubeconfig : encrypted(kubeconfig) } } };
};

beforeAll(async () => {
  apiServer = await openApi();
  aws = await openStandIn(answer);
});
beforeEach(() => {
  vi.stubEnv('AWS_ENDPOINT_URL', aws.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});
afterAll(() => Promise.all([apiServer.close(), aws.close()]));

const access = () => awsAccess(HOME);

/** The region and the service of the last request, as its signature names them. */
const lastScope = () => /\/\d{8}\/([^/]+\/[^/]+)\/aws4_request/.exec(aws.asked.at(-1)?.authorization ?? '')?.[1];

describe('a cluster on AWS that the configuration names', () => {
  it.each([
    ['secret: kube', 'secretsmanager'],
    ['parameter: /kube', 'ssm'],
  ])('by a kubeconfig in %s works', async (place, service) => {
    expect(await identitiesIn(`{ name: blue, ${place} }`, access())).toEqual(known);
    expect(lastScope()).toBe(`${HOME}/${service}`);
  });

  it.each([
    ['{ name: blue, eks: {} }', HOME, 'blue'],
    ['{ name: blue, eks: { cluster: green, region: eu-west-3 } }', 'eu-west-3', 'green'],
  ])('by EKS is looked up in its own region: %s', async (entry, region, cluster) => {
    const ways = access();
    const withToken: typeof ways = {
      ...ways,
      managedCluster: async (given, signal) => ({
        ...(await ways.managedCluster(given, signal)),
        token: async () => FENCE_TOKEN,
      }),
    };
    expect(await identitiesIn(entry, withToken)).toEqual(known);
    expect([aws.asked.at(-1)?.url, lastScope()]).toEqual([`/clusters/${cluster}`, `${region}/eks`]);
  });

  it('by EKS gets a token with the present date, because the API server rejects an old one', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 21, 12) });
    const entry = entryIn('{ name: blue, eks: {} }');
    if (!('eks' in entry)) throw new Error('not an entry of EKS');
    const { token } = await access().managedCluster(entry, unhurried());
    const signed = Buffer.from((await token()).replace(/^k8s-aws-v1\./, ''), 'base64url').toString();
    expect(new URL(signed).searchParams.get('X-Amz-Date')).toBe('20261121T120000Z');
  });

  it.each(['{ name: blue, aks: { resourceGroup: rg } }', '{ name: blue, keyVault: { vault: v, secret: s } }'])(
    'is not %s',
    async (entry) => {
      await expect(connectCluster(entryIn(entry), access(), unhurried())).rejects.toThrow(
        /aws does not provide the access/,
      );
    },
  );
});
