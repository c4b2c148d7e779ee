import { afterEach, describe, expect, it, vi } from 'vitest';
import { lazyDependencies } from '../../functions/azure/dependencies.ts';
import { createSender } from '../../providers/azure/rest.ts';

/** Variables of a function on Azure that a person or a template has set to an invalid value. */

afterEach(() => vi.unstubAllEnvs());

const withVariables = (variables: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries({ KUBECONFIG: '/nowhere', ...variables })) vi.stubEnv(name, value);
};

const subscription = { AZURE_SUBSCRIPTION_ID: '11111111-1111-1111-1111-111111111111' };

it('a time limit that cannot be read stops the function before it looks at anything', async () => {
  withVariables({ ...subscription, CLOUDFENCE_TIMEOUT_SECONDS: 'abc' });
  await expect(lazyDependencies()()).rejects.toThrow(/CLOUDFENCE_TIMEOUT_SECONDS/);
});

describe('the URL of a service', () => {
  it('is a URL, or is rejected with the name of its variable', async () => {
    for (const text of ['not a url', 'ftp://host', 'https://', '//host']) {
      withVariables({ ...subscription, CLOUDFENCE_AZURE_ENDPOINT: text });
      await expect(lazyDependencies()()).rejects.toThrow(`CLOUDFENCE_AZURE_ENDPOINT is "${text}", which is not a URL`);
    }
  });

  it('of a proxy is a URL, or is rejected', async () => {
    withVariables({ ...subscription, HTTPS_PROXY: 'not a url' });
    await expect(lazyDependencies()()).rejects.toThrow(/HTTPS_PROXY.*is not a URL/);
  });

  it('of a Service Bus is a host, or is rejected', () => {
    const credential = { getToken: async () => null };
    expect(() => createSender({ credential, host: 'a b' })).toThrow(/CLOUDFENCE_BUS__fullyQualifiedNamespace/);
    expect(() => createSender({ credential, host: ` ${'s3cret'.repeat(12)}` })).not.toThrow(
      new RegExp('s3cret'.repeat(8)),
    );
  });
});
