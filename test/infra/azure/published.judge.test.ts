import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseJsonOrNull } from '../../../fencing/model/json-text.ts';
import { functionNames } from '../../../infra/azure/install.ts';
import { deployingAt, packaged } from './installed.ts';
import { openManagement, type Management } from './management.ts';
import { installTemplate } from '../../../infra/azure/deployment.ts';
import { installFor, ofType, placedFor } from './packaged-template.ts';
import { openPublished, type Published } from './published-models.ts';
import { full, plain } from './stage-files.ts';

/** Checks the template, and every request of a deployment, with the interfaces that Microsoft publishes. */

let published: Published;
let management: Management;
beforeAll(async () => {
  published = openPublished();
  management = await openManagement();
  for (const [written, stage, ends] of [
    [{}, 'prod', false],
    [{ keylessDelivery: false }, 'prod', true],
    [full, 'full', true],
  ] as const) {
    const { deployer, say } = deployingAt(management, written, stage);
    await deployer.preview?.(say);
    await deployer.deploy(packaged(stage), say);
    await deployer.deploy(packaged(stage), say);
    await deployer.info();
    for (const name of functionNames) await deployer.invoke(name, {});
    await deployer.logs('sweep');
    if (ends) await deployer.remove(say);
  }
});
afterAll(() => management.close());

const stages = {
  plain,
  keys: { ...plain, keylessDelivery: false },
  whole: { ...plain, resourceGroups: 'all-of-subscription' },
  health: { ...plain, health: true },
  full,
};

describe('the template', () => {
  it.each(Object.entries(stages))(
    'matches the published models, with every resource of the stage %s',
    (stage, written) => {
      const nested = installTemplate(installFor('prod', written)).resources.filter(
        ({ type }) => type === 'Microsoft.Resources/deployments',
      );
      const placed = placedFor('prod', written).map(({ group: _group, ...resource }) => resource);
      const faults = [...nested, ...placed].flatMap((resource) =>
        published.faultsIn(resource.type, resource.apiVersion, { ...resource }),
      );
      expect(nested.length).toBeGreaterThan(1);
      expect({ stage, faults }).toEqual({ stage, faults: [] });
    },
  );

  it.each([
    ['an unknown version', 'Storage/storageAccounts', { apiVersion: '2031-01-01' }, /no version 2031/],
    [
      'an unknown property',
      'Storage/storageAccounts',
      { properties: { nonsense: 1 } },
      /nonsense: there is no such property/,
    ],
    ['an unknown value', 'Storage/storageAccounts', { properties: { minimumTlsVersion: 'TLS9' } }, /"TLS9" is none of/],
    [
      'a text in place of a Boolean',
      'Storage/storageAccounts',
      { properties: { allowBlobPublicAccess: 'no' } },
      /is neither true nor false/,
    ],
    [
      'a property that only Azure writes',
      'ServiceBus/namespaces/queues',
      { properties: { messageCount: 1 } },
      /only Azure writes it/,
    ],
    ['a missing required property', 'Storage/storageAccounts', { sku: undefined }, /sku: is missing/],
    [
      'a destination of an unknown kind',
      'EventGrid/systemTopics/eventSubscriptions',
      { properties: { destination: { endpointType: 'Pigeon' } } },
      /"Pigeon" is none of/,
    ],
    [
      'an unknown filter in a list',
      'EventGrid/systemTopics/eventSubscriptions',
      { properties: { filter: { advancedFilters: [{ operatorType: 'Sounds', key: 'subject' }] } } },
      /advancedFilters\.0.*"Sounds" is none of/,
    ],
  ])('would be rejected with %s', (_, type, change, fault) => {
    const [resource] = ofType(placedFor('prod', plain), type).map(({ group: _group, ...one }) => ({
      ...one,
      ...change,
    }));
    expect(published.faultsIn(`Microsoft.${type}`, resource?.apiVersion ?? '', { ...resource })).toContainEqual(
      expect.stringMatching(fault),
    );
  });
});

describe('a deployment', () => {
  /** The endpoints of the app itself, and the query of logs, are not part of ARM. */
  const ofArm = () => management.recorded.filter(({ url }) => url.pathname.startsWith('/subscriptions/'));

  it('sends only published requests to ARM', () => {
    expect([
      ...new Set(
        ofArm().flatMap(({ method, url, body }) =>
          published.faultsOf({ method, url, body: parseJsonOrNull(body.toString()) }),
        ),
      ),
    ]).toEqual([]);
  });

  it('sends every kind of request that it can', () => {
    const kinds = new Set(
      ofArm().map(({ method, url }) => `${method} ${/([\w.]+\/\w+)(?:\/[^/]+)?$/.exec(url.pathname)?.[1] ?? ''}`),
    );
    expect(kinds.size).toBeGreaterThan(10);
  });
});
