import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { lazyDependencies } from '../../functions/gcp/dependencies.ts';
import { httpFunction } from '../../functions/gcp/http.ts';

/** Variables of a function on Google Cloud that a person or a template has set to an invalid value. */

afterEach(() => vi.unstubAllEnvs());

const withVariables = (variables: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries({ KUBECONFIG: '/nowhere', ...variables })) vi.stubEnv(name, value);
};

it('a time limit that cannot be read is the answer of the function, which does nothing else', async () => {
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

it.each(['CLOUDFENCE_GCP_ENDPOINT', 'CLOUDFENCE_CERTIFICATES_URL', 'CLOUDFENCE_ASKED_AT'])(
  'the URL in %s is a URL, or is rejected with the name of the variable',
  async (name) => {
    for (const text of ['not a url', 'ftp://host', 'https://', '//host']) {
      withVariables({ [name]: text });
      await expect(lazyDependencies()()).rejects.toThrow(`${name} is "${text}", which is not a URL`);
    }
  },
);
