import { z } from 'zod';
import { durationSchema } from '../../config/schema.ts';
import type { RawParameters } from '../serverless/deployer.ts';
import * as install from '../serverless/deployer.ts';

/**
 * An install: its names, and the parameters in infra/gcp/parameters.yml and in a stage's file, apart from the
 * configuration of the functions. Each name begins with `cloudfence-<stage>`, so that stages do not collide.
 */

export const functionNames = ['on-event', 'sweep', 'replay', 'fence', 'doctor', 'diagnose'] as const;
export type FunctionName = (typeof functionNames)[number];

interface InstallScope {
  readonly project: string;
  readonly region: string;
  readonly prefix: string;
}

export const resourceNames = ({ project, region, prefix }: InstallScope) => {
  const inProject = `projects/${project}`;
  const inRegion = `${inProject}/locations/${region}`;
  const account = (what: string) => `${prefix}-${what}@${project}.iam.gserviceaccount.com`;
  return {
    project: inProject,
    region: inRegion,
    /**
     * Service accounts: `runner` runs all functions except the doctor, `caller` is the account with which Pub/Sub and
     * Cloud Scheduler call them, `doctor` runs the doctor, and `builder` builds all functions.
     */
    runner: account('run'),
    caller: account('push'),
    doctor: account('read'),
    builder: account('make'),
    roleId: prefix.replaceAll('-', '_'),
    topic: (what: string) => `${inProject}/topics/${prefix}-${what}`,
    subscription: (what: string) => `${inProject}/subscriptions/${prefix}-${what}`,
    /** A bucket's name is unique in all of Google Cloud, so it has the project in it. */
    incidentBucket: `${prefix}-${project}`,
    sink: `${inProject}/sinks/${prefix}-events`,
    metric: (what: string) => `${inProject}/metrics/${prefix}-${what}`,
    job: `${inRegion}/jobs/${prefix}-sweep`,
    functionId: (name: string) => `${prefix}-${name}`,
    function: (name: string) => `${inRegion}/functions/${prefix}-${name}`,
    /** Returns the Cloud Run service of a function. The IAM policy of the service controls who may call it. */
    service: (name: string) => `${inRegion}/services/${prefix}-${name}`,
    /**
     * Returns the address, which is known before the function exists:
     * https://cloud.google.com/functions/docs/calling/http#url
     */
    address: (name: string) => `https://${region}-${project}.cloudfunctions.net/${prefix}-${name}`,
  };
};

export type ResourceNames = ReturnType<typeof resourceNames>;

const MINUTE = 60_000;
/** https://cloud.google.com/resource-manager/docs/creating-managing-projects */
const projectId = z
  .string('is not a project id: write the id of the project to deploy into')
  .regex(/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/, 'is not a project id');

const between = (least: number, most: number, words: string) =>
  durationSchema.refine((ms) => ms >= least && ms <= most, `must be from ${words}`);

const GIB = 1_024;

/**
 * The least and the most memory (MB) for each number of virtual CPUs:
 * https://cloud.google.com/run/docs/configuring/services/cpu
 */
const memoryFor: readonly (readonly [cpu: number, least: number, most: number])[] = [
  [8, 4 * GIB, 32 * GIB],
  [6, 4 * GIB, 24 * GIB],
  [4, 2 * GIB, 16 * GIB],
  [2, 0, 8 * GIB],
  [1, 0, 4 * GIB],
  [0.5, 0, GIB],
  [0, 0, GIB / 2],
];

const memory = z
  .int()
  .min(256)
  .max(32 * GIB);
const cpu = z.union(
  [z.literal([1, 2, 4, 6, 8]), z.number().min(0.08).max(1)],
  'must be 1, 2, 4, 6, 8 or from 0.08 to 1',
);
const size = z.object({ memory, cpu });

/** Cloud Run checks memory and CPU together. */
const sizeFault = ({ memory, cpu }: z.infer<typeof size>): string | null => {
  const [, least, most] = memoryFor.find(([from]) => cpu >= from) ?? [0, 0, 0];
  return memory < least || memory > most
    ? `${memory} MB is not valid with ${cpu} virtual CPUs: Cloud Run requires ` +
        `${least > 0 ? `${least} to ${most}` : `at most ${most}`} MB`
    : null;
};

export const gcpParameters = z
  .strictObject({
    project: projectId,
    region: z.string().regex(/^[a-z]+-[a-z]+\d+$/, 'is not a region: write one such as europe-west1'),
    projects: z.array(projectId),
    invokers: z.array(
      z
        .string()
        .regex(
          /^(?:user|group|serviceAccount|domain):\S+$/,
          'is not a member: write user:…, group:…, serviceAccount:… or domain:…',
        ),
    ),
    runtime: z.enum(['nodejs24', 'nodejs22']),
    sweepEvery: between(MINUTE, 60 * MINUTE, '1m to 60m').refine(
      (ms) => 60 % (ms / MINUTE) === 0,
      'must be whole minutes that divide an hour',
    ),
    maximumInstances: z.int().min(1).max(1_000),
    timeout: between(10_000, 9 * MINUTE, '10s to 9m').refine((ms) => ms % 1_000 === 0, 'must be whole seconds'),
    memory,
    cpu,
    notificationChannels: z.array(
      z
        .string()
        .regex(
          /^projects\/[a-z0-9-]+\/notificationChannels\/\d+$/,
          'is not a channel: write projects/…/notificationChannels/…',
        ),
    ),
    oldestMessage: between(MINUTE, 24 * 60 * MINUTE, '1m to 24h').refine(
      (ms) => ms % 1_000 === 0,
      'must be whole seconds',
    ),
    deliveries: z.int().min(5).max(100),
    retentionDays: z.int().min(1).max(7),
    incidentDays: z.int().min(1).max(3_650),
    incidentBucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/, 'is not the name of a bucket')
      .nullable(),
    incidentTopic: z
      .string()
      .regex(/^projects\/[a-z0-9-]+\/topics\/[A-Za-z][\w.~+%-]{2,254}$/, 'is not a topic: write projects/…/topics/…')
      .nullable(),
    checkPermissions: z.boolean(),
  })
  .refine((size) => sizeFault(size) === null, {
    path: ['memory'],
    error: ({ input }) => sizeFault(size.parse(input)) ?? '',
    when: ({ value }) => size.safeParse(value).success,
  });

type GcpParameters = z.infer<typeof gcpParameters>;

export type CheckedInstall = install.CheckedInstall<GcpParameters>;

/**
 * `cloudfence-<stage>-push` has at most 30 characters:
 * https://cloud.google.com/iam/docs/service-accounts-create
 */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage)
    ? []
    : [`stage: "${stage}" must begin with a letter, and can have at most 14 lowercase letters, digits, and hyphens`];

const rules: install.InstallRules<GcpParameters> = {
  cloud: 'gcp',
  parameters: gcpParameters,
  stageFaults,
  isReachable: (cluster) => 'gke' in cluster || 'secretManager' in cluster,
  waysIn:
    'a function on Google Cloud requires `gke`, which finds a cluster, or `secretManager`, which contains a kubeconfig',
};

/** Checks the install and returns all faults together. */
export const checkInstall = (stage: string, written: RawParameters) => install.checkInstall(rules, stage, written);

/** The complete description of an install before it is deployed. */
export interface Install extends CheckedInstall {
  readonly prefix: string;
  readonly names: ResourceNames;
}

export const createInstall = (prefix: string, checked: CheckedInstall): Install => {
  const { project, region } = checked.parameters;
  return { ...checked, prefix, names: resourceNames({ project, region, prefix }) };
};

const SECOND = 1_000;

export const durationText = (ms: number): string => `${ms / SECOND}s`;

/** Returns the environment of a function. It contains no secret. */
export const functionEnvironment = (
  { parameters, settings, names }: Install,
  name: string,
): Readonly<Record<string, string>> => ({
  // One malloc arena for all threads of Node.js saves 5 MB of memory and is no slower.
  MALLOC_ARENA_MAX: '1',
  CLOUDFENCE_SETTINGS: settings,
  CLOUDFENCE_PROJECTS: [parameters.project, ...parameters.projects].join(','),
  CLOUDFENCE_AUDIENCE: names.address(name),
  CLOUDFENCE_CALLER: names.caller,
  ...(name === 'sweep' && { CLOUDFENCE_DOCTOR: names.doctor }),
  ...(name === 'doctor' && { CLOUDFENCE_ASKED_AT: names.address('sweep') }),
  CLOUDFENCE_BEHIND_CLOUD_RUN: 'true',
  CLOUDFENCE_AGAIN_TOPIC: names.topic('again'),
  CLOUDFENCE_DEAD_LETTER_TOPIC: names.topic('dead-letters'),
  CLOUDFENCE_DELIVERIES: String(parameters.deliveries),
  CLOUDFENCE_INCIDENT_BUCKET: parameters.incidentBucket ?? names.incidentBucket,
  CLOUDFENCE_INCIDENT_TOPIC: parameters.incidentTopic ?? names.topic('incidents'),
  CLOUDFENCE_TIMEOUT_SECONDS: String(parameters.timeout / SECOND),
});
