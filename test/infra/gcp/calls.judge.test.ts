import { afterAll, beforeAll, expect, it } from 'vitest';
import { deployerAt, packaged } from './installed.ts';
import { judged } from './google-documents.ts';
import { openManagement, type Management } from './management.ts';
import { PROJECT, type Fields } from './store.ts';

/** One field of each thing that has any of these. */
const changedByHand = (object: Fields): Fields => {
  const spoiled = { filter: 'severity>=ERROR', schedule: '0 0 * * *', ackDeadlineSeconds: 11, title: 'x', displayName: 'x' };
  return { ...object, ...Object.fromEntries(Object.entries(spoiled).filter(([key]) => key in object)) };
};

let google: Management;
beforeAll(async () => {
  google = await openManagement();
  const deployer = deployerAt(google);
  const quiet = (): void => undefined;
  await deployer.deploy(packaged(), quiet);
  google.store.objects.forEach((object, path) => google.store.objects.set(path, changedByHand(object)));
  await deployer.deploy(packaged(' of tomorrow'), quiet);
  await deployer.info();
  await deployer.logs('on-event');
  await deployer.invoke('nobody', {}).catch(() => undefined);
  await deployer.remove(quiet);
  google.store.deletedRoles.set(`projects/${PROJECT}/roles/cloudfence_prod`, google.store.now);
  google.store.services.delete('monitoring.googleapis.com');
  await deployer.deploy(packaged(), quiet);
});
afterAll(() => google.close());

it("every call of a deployment, and every answer of the stand-in, is as Google's documents have it", () => {
  expect([...new Set(google.recorded.flatMap((call) => judged(call).faults))]).toEqual([]);
});

it('makes these calls, and no others', () => {
  expect([...new Set(google.recorded.map((call) => judged(call).id))].toSorted()).toMatchInlineSnapshot(`
    [
      "cloudfunctions.projects.locations.functions.create",
      "cloudfunctions.projects.locations.functions.delete",
      "cloudfunctions.projects.locations.functions.generateUploadUrl",
      "cloudfunctions.projects.locations.functions.get",
      "cloudfunctions.projects.locations.functions.list",
      "cloudfunctions.projects.locations.functions.patch",
      "cloudfunctions.projects.locations.operations.get",
      "cloudresourcemanager.operations.get",
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
      "serviceusage.services.batchEnable",
      "serviceusage.services.batchGet",
    ]
  `);
});
