import { z } from 'zod';
import type { Api } from './api.ts';
import { type Install, functionNames, type FunctionName, type ResourceNames } from './install.ts';
import type { Grant, PolicyResource } from './policies.ts';
import { INCIDENT_TOPIC } from './queues.ts';

/** Who has which role on which resource, in addition to the permissions of the custom role in the project. */

export interface RoleBinding extends Grant {
  readonly on: PolicyResource;
}

const PUBLISHER = 'roles/pubsub.publisher';
const SUBSCRIBER = 'roles/pubsub.subscriber';
export const INVOKER_ROLE = 'roles/run.invoker';

const serviceAccount = (email: string): string => `serviceAccount:${email}`;
const ofPubSub = (path: string): PolicyResource => ({ host: 'pubsub', path: `v1/${path}`, read: 'GET' });

const project = z.looseObject({ projectNumber: z.string().regex(/^\d+$/) });

export const projectNumberOf = async (api: Api, { names }: Install): Promise<string> =>
  project.parse(await api.call({ method: 'GET', host: 'projects', path: `v1/${names.project}` })).projectNumber;

/**
 * Returns the account of Pub/Sub itself.
 * https://cloud.google.com/iam/docs/service-agents
 */
export const pubSubServiceAgent = async (api: Api, install: Install): Promise<string> =>
  serviceAccount(`service-${await projectNumberOf(api, install)}@gcp-sa-pubsub.iam.gserviceaccount.com`);

export const secretNames = ({ configuration: { clusters } }: Install): readonly string[] =>
  clusters.flatMap((cluster) => ('secretManager' in cluster ? [cluster.secretManager.secret] : []));

const ofProject = ({ names }: Install): PolicyResource => ({
  host: 'projects',
  path: `v1/${names.project}`,
  read: 'POST with a body',
});
const ofBucket = ({ names }: Install): PolicyResource => ({
  host: 'storage',
  path: `storage/v1/b/${names.incidentBucket}`,
  read: 'GET of a bucket',
});
const ofSecret = (secret: string): PolicyResource => ({ host: 'secrets', path: `v1/${secret}`, read: 'GET' });

/** Returns the grants of the account that the functions run as. `role` is the name of its role in the project. */
export const runtimeAccountGrants = (install: Install, role: string): readonly RoleBinding[] => {
  const member = serviceAccount(install.names.runner);
  return [
    { on: ofProject(install), role, member },
    ...secretNames(install).map((secret): RoleBinding => ({
      on: ofSecret(secret),
      role: 'roles/secretmanager.secretAccessor',
      member,
    })),
  ];
};

/**
 * Returns the grants of the account that builds. Without one, a build uses the project's Compute Engine account, which
 * has almost all permissions in an old project and too few in a new one.
 * https://cloud.google.com/functions/docs/securing/build-custom-sa
 */
export const buildAccountGrants = (install: Install): readonly RoleBinding[] =>
  ['roles/artifactregistry.writer', 'roles/logging.logWriter', 'roles/storage.objectViewer'].map((role) => ({
    on: ofProject(install),
    role,
    member: serviceAccount(install.names.builder),
  }));

/** Returns the grants on resources that the install did not make. A removal must revoke them separately. */
export const grantsOutsideInstall = (
  install: Install,
): { readonly members: readonly string[]; readonly on: readonly PolicyResource[] } => ({
  members: [install.names.runner, install.names.builder].map(serviceAccount),
  // The bucket of incidents stays, so it counts as one of these.
  on: [
    ofProject(install),
    ...secretNames(install).map(ofSecret),
    ...(install.parameters.incidentBucket === null ? [ofBucket(install)] : []),
  ],
});

/**
 * Returns the grants for storing incidents and publishing messages about them, if the install created the bucket and
 * the topic.
 */
export const incidentGrants = (install: Install): readonly RoleBinding[] => {
  const { names, parameters } = install;
  const member = serviceAccount(names.runner);
  const topic = { on: ofPubSub(names.topic(INCIDENT_TOPIC)), role: PUBLISHER, member };
  const bucket = { on: ofBucket(install), role: 'roles/storage.objectUser', member };
  return [
    ...(parameters.incidentTopic === null ? [topic] : []),
    ...(parameters.incidentBucket === null ? [bucket] : []),
  ];
};

/** Returns the grants on the install's own resources. They are deleted with those resources. */
export const grantsOnOwnResources = ({ names }: Install, agent: string): readonly RoleBinding[] => [
  { on: ofPubSub(names.topic('again')), role: PUBLISHER, member: serviceAccount(names.runner) },
  { on: ofPubSub(names.topic('dead-letters')), role: PUBLISHER, member: serviceAccount(names.runner) },
  { on: ofPubSub(names.topic('dead-letters')), role: PUBLISHER, member: agent },
  { on: ofPubSub(names.subscription('events')), role: SUBSCRIBER, member: agent },
  { on: ofPubSub(names.subscription('again')), role: SUBSCRIBER, member: agent },
  {
    on: { host: 'iam', path: `v1/${names.project}/serviceAccounts/${names.caller}`, read: 'POST' },
    role: 'roles/iam.serviceAccountTokenCreator',
    member: agent,
  },
];

export const eventPublisherGrant = ({ names }: Install, writer: string): RoleBinding => ({
  on: ofPubSub(names.topic('events')),
  role: PUBLISHER,
  member: writer,
});

/** Returns who may call each function: the accounts that push, or the members that the parameters name. */
export const invokerBindings = ({
  names,
  parameters,
}: Install): readonly { readonly on: PolicyResource; readonly members: readonly string[] }[] =>
  functionNames.map((name) => ({
    on: { host: 'run', path: `v2/${names.service(name)}`, read: 'GET' },
    members: callersOf(name, names, parameters.invokers),
  }));

const callersOf = (name: FunctionName, names: ResourceNames, people: readonly string[]): readonly string[] => {
  switch (name) {
    case 'on-event':
      return [serviceAccount(names.caller)];
    case 'sweep':
      return [names.caller, names.doctor].map(serviceAccount);
    case 'replay':
    case 'fence':
    case 'doctor':
    case 'diagnose':
      return people;
  }
};
