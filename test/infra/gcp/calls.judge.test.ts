import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApi, apiHosts, type Host } from '../../../infra/gcp/api.ts';
import { gcpDeployer } from '../../../infra/gcp/deployer.ts';
import { permissionCheckOf, type Exchange } from '../../contract/discovery/services.ts';
import { installWith, packaged } from './installed.ts';
import { openManagement, type Management } from './management.ts';
import { PROJECT, type Fields } from './store.ts';

/** Checks every request of a deployer, and every answer of the stand-in, with Google's own documents. */

const judged = permissionCheckOf([
  'cloudfunctions.v2',
  'cloudresourcemanager.v1',
  'cloudscheduler.v1',
  'iam.v1',
  'logging.v2',
  'monitoring.v1',
  'monitoring.v3',
  'pubsub.v1',
  'run.v2',
  'secretmanager.v1',
  'serviceusage.v1',
  'storage.v1',
]);

/** One field of each resource that has any of these. */
const changedByHand = (object: Fields): Fields => {
  const spoiled = {
    filter: 'severity>=ERROR',
    schedule: '0 0 * * *',
    ackDeadlineSeconds: 11,
    title: 'x',
    displayName: 'x',
    lifecycle: {},
  };
  return { ...object, ...Object.fromEntries(Object.entries(spoiled).filter(([key]) => key in object)) };
};

let google: Management;
/** The host of each call. The stand-in does not see it, because all hosts have one address there. */
const meant: Host[] = [];

const deployer = (written = {}) => {
  const api = createApi({ endpoint: google.url, wait: google.wait });
  const noting = api.over((call) => {
    meant.push(call.host);
    return api.ask(call);
  });
  return gcpDeployer({ ...api, ...noting }, installWith(written));
};
const quiet = (): void => undefined;

beforeAll(async () => {
  google = await openManagement();
  const channel = `projects/${PROJECT}/notificationChannels/42`;
  google.store.objects.set(channel, { name: channel });
  google.store.races = 1;
  google.store.delays = { account: 60_000, grant: 60_000, metric: 60_000, service: 60_000 };
  await deployer().deploy(packaged(), quiet);
  google.store.objects.forEach((object, path) => google.store.objects.set(path, changedByHand(object)));
  await deployer({
    notificationChannels: [channel],
    policy: { unreachable: 'power-off' },
    cpu: 2,
    memory: 4_096,
  }).deploy(packaged(' of tomorrow'), quiet);
  await deployer().info();
  await deployer().logs('on-event');
  await deployer()
    .invoke('nobody', {})
    .catch(() => undefined);
  await deployer().remove(quiet);
  google.store.deletedRoles.set(`projects/${PROJECT}/roles/cloudfence_prod`, google.store.now);
  google.store.services.delete('monitoring.googleapis.com');
  await deployer({ clusters: [{ name: 'a', gke: { location: 'europe-west1', project: PROJECT } }] }).deploy(
    packaged(),
    quiet,
  );
});
afterAll(() => google.close());

const exchanges = (): readonly Exchange[] =>
  google.recorded.map((call, at) => ({ ...call, origin: apiHosts[meant[at] ?? 'iam'] }));

it('knows the host of each call', () => expect(meant).toHaveLength(google.recorded.length));

it('every call of a deployment, and every answer of the stand-in, matches Google’s documents', () => {
  expect([...new Set(exchanges().flatMap((call) => judged(call).faults))]).toEqual([]);
});

describe('the judge itself', () => {
  const call = (change: Partial<Exchange>): Exchange => ({
    origin: apiHosts.pubsub,
    verb: 'PUT',
    url: new URL('/v1/projects/my-project/subscriptions/s1', apiHosts.pubsub),
    body: { topic: 'projects/my-project/topics/t1', expirationPolicy: {} },
    reply: { status: 200, body: { name: 'projects/my-project/subscriptions/s1' } },
    ...change,
  });
  const create = (body: object) =>
    call({
      origin: apiHosts.monitoring,
      verb: 'POST',
      url: new URL('/v3/projects/my-project/alertPolicies', apiHosts.monitoring),
      body,
      reply: { status: 200, body: {} },
    });

  it('finds no fault with a correct call', () =>
    expect(judged(call({}))).toEqual({ id: 'pubsub.projects.subscriptions.create', faults: [] }));

  it.each([
    ['of another host', call({ origin: apiHosts.iam }), /no such method/],
    ['with another verb', call({ verb: 'PATCH', body: {} }), /updateMask|subscription|required/],
    [
      'to a path that does not exist',
      call({ url: new URL('/v2/projects/my-project/subscriptions/s1', apiHosts.pubsub) }),
      /no such method/,
    ],
    [
      'with a parameter that does not exist',
      call({ url: new URL('/v1/projects/my-project/subscriptions/s1?force=true', apiHosts.pubsub) }),
      /no parameter force/,
    ],
    [
      'with a field that does not exist',
      call({ body: { topic: 'projects/my-project/topics/t1', ackDeadline: 10 } }),
      /ackDeadline: there is no such field/,
    ],
    ['without a required field', call({ body: {} }), /topic: is required/],
    [
      'with an output-only field',
      call({ body: { topic: 'projects/my-project/topics/t1', state: 'ACTIVE' } }),
      /state: is never sent/,
    ],
    ['with a value outside the list', create({ displayName: 'x', combiner: 'XOR' }), /XOR is none of/],
    [
      'with a duration in another format',
      create({ conditions: [{ conditionThreshold: { filter: 'x', duration: '1m' } }] }),
      /1m is no duration/,
    ],
    [
      'answered with a field that does not exist',
      call({ reply: { status: 200, body: { title: 'x' } } }),
      /title: there is no such field/,
    ],
    [
      'refused in another format',
      call({ reply: { status: 404, body: { message: 'no' } } }),
      /an error of another form/,
    ],
  ])('finds a call %s', (_, one, fault) => expect(judged(one).faults.join('; ')).toMatch(fault));

  it('finds a mask that names a field that does not exist', () => {
    const url = new URL('/v3/projects/my-project/alertPolicies/1?updateMask=displayName,channels', apiHosts.monitoring);
    expect(
      judged(call({ origin: apiHosts.monitoring, verb: 'PATCH', url, body: {}, reply: { status: 200, body: {} } }))
        .faults,
    ).toEqual(['monitoring.projects.alertPolicies.patch: the mask names channels, and there is no such field']);
  });
});

it('covers these calls and no others', () => {
  expect([...new Set(exchanges().map((call) => judged(call).id))].toSorted()).toMatchInlineSnapshot(`
    [
      "cloudfunctions.projects.locations.functions.create",
      "cloudfunctions.projects.locations.functions.delete",
      "cloudfunctions.projects.locations.functions.generateUploadUrl",
      "cloudfunctions.projects.locations.functions.get",
      "cloudfunctions.projects.locations.functions.list",
      "cloudfunctions.projects.locations.functions.patch",
      "cloudfunctions.projects.locations.operations.get",
      "cloudresourcemanager.projects.get",
      "cloudresourcemanager.projects.getIamPolicy",
      "cloudresourcemanager.projects.setIamPolicy",
      "cloudresourcemanager.projects.testIamPermissions",
      "cloudscheduler.projects.locations.jobs.create",
      "cloudscheduler.projects.locations.jobs.delete",
      "cloudscheduler.projects.locations.jobs.get",
      "cloudscheduler.projects.locations.jobs.patch",
      "iam.projects.roles.create",
      "iam.projects.roles.list",
      "iam.projects.roles.patch",
      "iam.projects.roles.undelete",
      "iam.projects.serviceAccounts.create",
      "iam.projects.serviceAccounts.delete",
      "iam.projects.serviceAccounts.get",
      "iam.projects.serviceAccounts.getIamPolicy",
      "iam.projects.serviceAccounts.patch",
      "iam.projects.serviceAccounts.setIamPolicy",
      "logging.entries.list",
      "logging.projects.metrics.create",
      "logging.projects.metrics.delete",
      "logging.projects.metrics.get",
      "logging.projects.metrics.update",
      "logging.projects.sinks.create",
      "logging.projects.sinks.delete",
      "logging.projects.sinks.get",
      "logging.projects.sinks.patch",
      "monitoring.projects.alertPolicies.create",
      "monitoring.projects.alertPolicies.delete",
      "monitoring.projects.alertPolicies.list",
      "monitoring.projects.alertPolicies.patch",
      "monitoring.projects.dashboards.create",
      "monitoring.projects.dashboards.delete",
      "monitoring.projects.dashboards.get",
      "monitoring.projects.dashboards.list",
      "monitoring.projects.dashboards.patch",
      "pubsub.projects.subscriptions.create",
      "pubsub.projects.subscriptions.delete",
      "pubsub.projects.subscriptions.get",
      "pubsub.projects.subscriptions.getIamPolicy",
      "pubsub.projects.subscriptions.patch",
      "pubsub.projects.subscriptions.setIamPolicy",
      "pubsub.projects.topics.create",
      "pubsub.projects.topics.delete",
      "pubsub.projects.topics.get",
      "pubsub.projects.topics.getIamPolicy",
      "pubsub.projects.topics.setIamPolicy",
      "run.projects.locations.services.getIamPolicy",
      "run.projects.locations.services.setIamPolicy",
      "secretmanager.projects.secrets.getIamPolicy",
      "secretmanager.projects.secrets.setIamPolicy",
      "secretmanager.projects.secrets.testIamPermissions",
      "serviceusage.operations.get",
      "serviceusage.services.batchEnable",
      "serviceusage.services.batchGet",
      "storage.buckets.get",
      "storage.buckets.getIamPolicy",
      "storage.buckets.insert",
      "storage.buckets.patch",
      "storage.buckets.setIamPolicy",
    ]
  `);
});
