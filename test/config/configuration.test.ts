import { describe, expect, it } from 'vitest';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { parseConfiguration } from '../../config/configuration-text.ts';
import { configurationSchema, parseDuration, policyOf } from '../../config/schema.ts';
import { loadSettings } from '../../config/settings.ts';

const faultsOf = (text: string): readonly string[] => {
  try {
    parseConfiguration(text, 'cf.yaml');
    return [];
  } catch (error) {
    if (error instanceof InvalidConfiguration) return error.faults;
    throw error;
  }
};

describe('the configuration file', () => {
  it('may leave out every setting, because each has a default', () => {
    expect(policyOf(parseConfiguration('{}', 'cf.yaml'), false)).toEqual(defaultPolicy);
  });

  it.each(['', ' \n', '# shadow: true\n', '---\n', 'null'])(
    'must have a value, because a file that was cut off would end a pause or shadow mode (%j)',
    (text) => {
      expect(faultsOf(text)).toEqual([
        'cf.yaml: has no value, so its settings may be lost: restore them, or write `{}` to use the defaults',
      ]);
    },
  );

  it('accepts every setting', () => {
    const text = `
region: eu-west-1
pause: upgrade to 1.37
shadow: true
incidents: gs://incidents
policy: { fenceAfter: 90s, detach: never, deleteNode: always, unreachable: power-off, optOut: nodes, cap: { share: 30%, atOnce: 0.1 } }
clusters:
  - { name: prod, kubeconfig: /etc/kube, context: admin }
  - { name: stage, eks: { region: eu-central-1 } }
`;
    const read = parseConfiguration(text, 'cf.yaml');
    expect(policyOf(read, false)).toEqual({
      paused: 'upgrade to 1.37',
      dryRun: false,
      shadow: true,
      fenceAfter: 90_000,
      detach: 'never',
      deleteNode: 'always',
      unreachable: 'power-off',
      optOut: 'nodes',
      vouching: 'refused',
      cap: { share: 0.3, atOnce: 0.1 },
    });
    expect(read.incidents).toBe('gs://incidents');
    expect(read.clusters.map(({ name }) => name)).toEqual(['prod', 'stage']);
  });

  it.each([
    ['a misspelt key', 'polcy: {}', /polcy/],
    ['a value that is not one of the choices', 'policy: { detach: maybe }', /policy\.detach/],
    ['a time without a unit', 'policy: { fenceAfter: "90" }', /"90" is not a duration/],
    ['a share above 1', 'policy: { cap: { share: 20 } }', /policy\.cap\.share/],
    ['a share below zero', 'policy: { cap: { atOnce: -0.1 } }', /policy\.cap\.atOnce/],
    ['more than 100 percent', 'policy: { cap: { share: 120% } }', /policy\.cap\.share/],
    [
      'the number of Nodes of earlier versions, and says what to write',
      'policy: { cap: { nodes: 3 } }',
      /policy\.cap\.nodes.*cap\.share.*cap\.atOnce/,
    ],
    ['a cluster without access', 'clusters: [{ name: a }]', /clusters\.0/],
    [
      'two clusters of one name',
      'clusters: [{ name: a, kubeconfig: x }, { name: a, kubeconfig: y }]',
      /two clusters have the name "a"/,
    ],
    [
      'a name of several lines',
      'clusters: [{ name: "a\\nb", kubeconfig: x }]',
      /clusters\.0\.name: is not a name: write/,
    ],
    ['a kubeconfig as a name', `clusters: [{ name: '{"token":"t"}', kubeconfig: x }]`, /is not a name/],
    ['a name of more than 200 characters', `clusters: [{ name: ${'a'.repeat(201)}, kubeconfig: x }]`, /is not a name/],
    ['a file that is not YAML', 'policy: {', /cf\.yaml/],
    ['a list instead of a mapping', '- a', /expected object/],
  ])('refuses %s', (_, text, words) => expect(faultsOf(text).join('\n')).toMatch(words));

  it('reports all errors at once', () => {
    expect(
      faultsOf('a: 1\npolicy: { detach: x, unreachable: y }\nclusters: [{ name: "" , kubeconfig: z }]').length,
    ).toBeGreaterThanOrEqual(4);
  });
});

describe('settings', () => {
  const nothing = { config: null, kubeconfig: null, region: null, home: null };
  it.each([
    ['the environment', { ...nothing, kubeconfig: '/env' }, {}, [{ name: 'default', kubeconfig: '/env' }]],
    ['the usual place', { ...nothing, home: '/root' }, {}, [{ name: 'default', kubeconfig: '/root/.kube/config' }]],
    [
      'the command line before the environment',
      { ...nothing, kubeconfig: '/env' },
      { kubeconfig: '/flag', context: 'c' },
      [{ name: 'c', kubeconfig: '/flag', context: 'c' }],
    ],
  ])('read the cluster from %s', async (_, environment, flags, clusters) => {
    expect(await loadSettings(environment, flags)).toEqual({ ...configurationSchema.parse({}), clusters });
  });

  it('require a cluster', async () => {
    await expect(loadSettings(nothing)).rejects.toThrow(/--kubeconfig/);
  });
});

it.each([
  ['90s', 90_000],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
  ['250ms', 250],
  ['0s', 0],
  ['90', null],
  ['-1s', null],
  ['s', null],
])('%s is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});
