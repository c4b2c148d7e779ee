import { afterEach, describe, expect, it, vi } from 'vitest';
import { readTimeLimit } from '../../config/environment.ts';
import { openIncidents, openTestChain } from '../../app/clouds.ts';
import { linkFromFiles } from '../../app/connect-cluster.ts';
import { readUrl } from '../../providers/plugin.ts';
import { loadFunctionSettings, loadSettings } from '../../config/settings.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';

/** Variables that a person or a template has set to an invalid value. */

afterEach(() => vi.unstubAllEnvs());

const noEnvironment = { config: null, kubeconfig: null, region: null, home: null };

const withVariables = (variables: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries({ KUBECONFIG: '/nowhere', ...variables })) vi.stubEnv(name, value);
};

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
});

describe('a secret in place of another value', () => {
  const secret = `eyJhbGciOiJSUzI1NiJ9.${'c2VjcmV0'.repeat(12)}`;
  const shown = 'c2VjcmV0'.repeat(3);
  const errorOf = (failing: () => unknown): Promise<unknown> =>
    Promise.resolve()
      .then(failing)
      .then(
        () => null,
        (error: unknown) => error,
      );

  it.each([
    ['the time limit', () => readTimeLimit()],
    ['a region', () => loadSettings(noEnvironment, { region: secret })],
    ['a path', () => loadSettings(noEnvironment, { config: secret })],
    ['a kubeconfig', () => linkFromFiles(secret, null)],
    ['a URL', () => readUrl(() => secret, 'HTTPS_PROXY')],
    ['a bucket', () => openIncidents(secret, { region: null, variable: () => null })],
    ['the entrance of events', () => openTestChain(secret, { region: null, variable: () => null })],
  ])('is shown only by its beginning: %s', async (_, failing) => {
    withVariables({ CLOUDFENCE_TIMEOUT_SECONDS: secret });
    const error = await errorOf(failing);
    expect(String(error)).toContain('eyJhbGci');
    expect(String(error)).not.toContain(shown);
  });

  it('is not shown if it is the password of a proxy', () => {
    expect(() => readUrl(() => 'anna:secret@proxy:3128', 'HTTPS_PROXY')).toThrow(
      /HTTPS_PROXY is ".*@proxy:3128", which/,
    );
    expect(() => readUrl(() => 'anna:secret@proxy:3128', 'HTTPS_PROXY')).not.toThrow(/secret/);
  });
});

it('rejects settings in which a person has written a key twice, because the last one would win', async () => {
  withVariables({ CLOUDFENCE_SETTINGS: '{"policy":{"pause":"incident 12"},"clusters":[],"policy":{}}' });
  await expect(loadFunctionSettings()).rejects.toThrow(/the key is there twice/);
});

it.each(['', ' ', 'null', '# nothing'])(
  'rejects settings without a value (%j), because they may be lost',
  async (text) => {
    withVariables({ CLOUDFENCE_SETTINGS: text });
    await expect(loadFunctionSettings()).rejects.toThrow(/CLOUDFENCE_SETTINGS: has no value, so .*write `{}`/);
  },
);

it('rejects settings that are nested too deeply to serialize', async () => {
  withVariables({ CLOUDFENCE_SETTINGS: `{"clusters":${'['.repeat(100_000)}${']'.repeat(100_000)}}` });
  const error: unknown = await loadFunctionSettings().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(InvalidConfiguration);
  expect(String(error)).toMatch(/nested too deeply: .*docs\/configuration\.md/);
});

it('the region of a function becomes part of a host name, so it has to be a region', async () => {
  withVariables({ CLOUDFENCE_SETTINGS: '{"region":"x.example/"}' });
  await expect(loadFunctionSettings()).rejects.toThrow(/at region: is not a region/);
});

it.each(['9999999999h', `${'9'.repeat(400)}h`])(
  'a delay of %s has no end that a date could represent',
  async (fenceAfter) => {
    withVariables({ CLOUDFENCE_SETTINGS: JSON.stringify({ policy: { fenceAfter } }) });
    await expect(loadFunctionSettings()).rejects.toThrow(/at most 365d/);
  },
);

describe('the content of a file instead of its path', () => {
  const content = '{"clusters":[{"name":"c","kubeconfig":"{token: secret-token}"}]}';

  it('is not shown as the path of the configuration', async () => {
    const environment = { config: content, kubeconfig: null, region: null, home: null };
    await expect(loadSettings(environment)).rejects.toThrow(/the configuration \(a text of 64 characters in place/);
    await expect(loadSettings(environment)).rejects.not.toThrow(/secret-token/);
  });

  it.each([content, 'apiVersion: v1\nusers: [{ user: { token: secret-token } }]'])(
    'is not shown as the path of a kubeconfig',
    async (text) => {
      await expect(linkFromFiles(text, null)).rejects.toThrow(/no kubeconfig exists at \(a text of \d+ characters/);
      await expect(linkFromFiles(text, null)).rejects.not.toThrow(/secret-token/);
    },
  );
});
