import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { lazyDependencies as onAzure } from '../../functions/azure/dependencies.ts';
import { lazyDependencies as onGcp } from '../../functions/gcp/dependencies.ts';
import { readTimeLimit } from '../../config/environment.ts';
import { loadFunctionSettings } from '../../config/settings.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { createSender } from '../../providers/azure/service-bus.ts';
import { httpFunction } from '../../functions/gcp/http.ts';

/** Variables that a person or a template has set to something else than they hold. */

afterEach(() => vi.unstubAllEnvs());

const withVariables = (variables: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries({ KUBECONFIG: '/nowhere', ...variables })) vi.stubEnv(name, value);
};

const subscription = { AZURE_SUBSCRIPTION_ID: '11111111-1111-1111-1111-111111111111' };

describe('the time limit of a function', () => {
  it.each(['abc', '0', '-5', '1e400', '60s', '9'.repeat(40), 'NaN', ' '])('is not %j', (text) => {
    withVariables({ CLOUDFENCE_TIMEOUT_SECONDS: text });
    expect(readTimeLimit).toThrow(InvalidConfiguration);
    expect(readTimeLimit).toThrow(/CLOUDFENCE_TIMEOUT_SECONDS is ".*", .*set it to the time limit/);
  });

  it.each([
    ['540', 540_000],
    ['0.5', 500],
    ['', 60_000],
  ])('may be %j', (text, ms) => {
    withVariables({ CLOUDFENCE_TIMEOUT_SECONDS: text });
    expect(readTimeLimit()).toBe(ms);
  });

  it('that cannot be read stops a function of Azure before it looks at anything', async () => {
    withVariables({ ...subscription, CLOUDFENCE_TIMEOUT_SECONDS: 'abc' });
    await expect(onAzure()()).rejects.toThrow(/CLOUDFENCE_TIMEOUT_SECONDS/);
  });

  it('that cannot be read is the answer of a function on Google Cloud, which does nothing else', async () => {
    withVariables({ CLOUDFENCE_TIMEOUT_SECONDS: 'abc' });
    const logged = vi.spyOn(console, 'log').mockReturnValue();
    const work = vi.fn<() => Promise<{ readonly status: number }>>(async () => ({ status: 204 }));
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const end = vi.spyOn(response, 'end');
    await httpFunction(work)({ headers: {} }, response);
    expect(work).not.toHaveBeenCalled();
    expect(response.statusCode).toBe(500);
    expect(end.mock.calls[0]?.[0]).toMatch(/CLOUDFENCE_TIMEOUT_SECONDS/);
    expect(logged.mock.calls.join(' ')).toMatch(/CLOUDFENCE_TIMEOUT_SECONDS/);
    logged.mockRestore();
  });
});

describe('the URL of a service', () => {
  it.each([
    ['CLOUDFENCE_GCP_ENDPOINT', onGcp],
    ['CLOUDFENCE_CERTIFICATES_URL', onGcp],
    ['CLOUDFENCE_ASKED_AT', onGcp],
    ['CLOUDFENCE_AZURE_ENDPOINT', onAzure],
  ])('in %s is a URL, or is refused by name', async (name, lazy) => {
    for (const text of ['not a url', 'ftp://host', 'https://', '//host']) {
      withVariables({ ...subscription, [name]: text });
      await expect(lazy()()).rejects.toThrow(new RegExp(`${name} is "${text}", which is not a URL`));
    }
  });

  it('of a proxy is a URL, or is refused', async () => {
    withVariables({ ...subscription, HTTPS_PROXY: 'not a url' });
    await expect(onAzure()()).rejects.toThrow(/HTTPS_PROXY.*is not a URL/);
  });

  it('of a Service Bus is a host, or is refused', () => {
    const credential = { getToken: async () => null };
    expect(() => createSender({ credential, host: 'a b' })).toThrow(/CLOUDFENCE_BUS__fullyQualifiedNamespace/);
  });
});

it('the region of a function becomes part of a host name, so it has to be a region', async () => {
  withVariables({ CLOUDFENCE_SETTINGS: '{"region":"x.example/"}' });
  await expect(loadFunctionSettings()).rejects.toThrow(/at region: is not a region/);
});

it.each(['9999999999h', `${'9'.repeat(400)}h`])(
  'a delay of %s has no end that a date could hold',
  async (fenceAfter) => {
    withVariables({ CLOUDFENCE_SETTINGS: JSON.stringify({ policy: { fenceAfter } }) });
    await expect(loadFunctionSettings()).rejects.toThrow(/at most 8760h/);
  },
);
