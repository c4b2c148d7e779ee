import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { functionNames } from '../../../infra/gcp/install.ts';
import { deployerAt, packaged } from './installed.ts';
import { openManagement, type Management } from './management.ts';
import { emptyStore, PROJECT, PROJECT_NUMBER } from './store.ts';

let google: Management;
beforeEach(async () => {
  google = await openManagement();
});
afterEach(() => google.close());

const quiet = (): void => undefined;
const deploy = (written = {}, change = '') => deployerAt(google, written).deploy(packaged(change), quiet);
const remove = (written = {}) => deployerAt(google, written).remove(quiet);

const inProject = `projects/${PROJECT}`;
const runner = `serviceAccount:cloudfence-prod-run@${PROJECT}.iam.gserviceaccount.com`;
const caller = `serviceAccount:cloudfence-prod-push@${PROJECT}.iam.gserviceaccount.com`;
const doctor = `serviceAccount:cloudfence-prod-read@${PROJECT}.iam.gserviceaccount.com`;
const agent = `serviceAccount:service-${PROJECT_NUMBER}@gcp-sa-pubsub.iam.gserviceaccount.com`;
const object = (path: string) => google.store.objects.get(`${inProject}/${path}`);
const membersOf = (path: string, role: string) =>
  google.store.policies.get(path)?.bindings.find((one) => one.role === role)?.members ?? [];

describe('a deployment', () => {
  it('pushes the entries of the sink to on-event, with its own account, with dead letters and backoff', async () => {
    await deploy();
    const sink = object('sinks/cloudfence-prod-events');
    expect(sink).toMatchObject({
      destination: `pubsub.googleapis.com/${inProject}/topics/cloudfence-prod-events`,
      filter: expect.stringContaining('operation.last=true'),
    });
    expect(membersOf(`${inProject}/topics/cloudfence-prod-events`, 'roles/pubsub.publisher')).toEqual([
      sink?.['writerIdentity'],
    ]);
    expect(object('subscriptions/cloudfence-prod-events')).toMatchObject({
      topic: `${inProject}/topics/cloudfence-prod-events`,
      pushConfig: {
        pushEndpoint: `${google.url}/call/cloudfence-prod-on-event`,
        oidcToken: {
          serviceAccountEmail: caller.slice(15),
          audience: `https://europe-west1-${PROJECT}.cloudfunctions.net/cloudfence-prod-on-event`,
        },
      },
      retryPolicy: { minimumBackoff: '10s', maximumBackoff: '300s' },
      deadLetterPolicy: {
        deadLetterTopic: `${inProject}/topics/cloudfence-prod-dead-letters`,
        maxDeliveryAttempts: 20,
      },
    });
    expect(membersOf(`${inProject}/topics/cloudfence-prod-dead-letters`, 'roles/pubsub.publisher')).toEqual([
      runner,
      agent,
    ]);
    expect(membersOf(`${inProject}/subscriptions/cloudfence-prod-events`, 'roles/pubsub.subscriber')).toEqual([agent]);
    expect(object('subscriptions/cloudfence-prod-dead-letters')).toMatchObject({
      messageRetentionDuration: '604800s',
      expirationPolicy: {},
    });
  });

  it('pushes a waiting message until it is due, which takes more deliveries than an event has', async () => {
    await deploy();
    expect(object('subscriptions/cloudfence-prod-again')).toMatchObject({
      topic: `${inProject}/topics/cloudfence-prod-again`,
      retryPolicy: { minimumBackoff: '5s', maximumBackoff: '30s' },
      deadLetterPolicy: { maxDeliveryAttempts: 100 },
    });
  });

  it('keeps events after their delivery, so that a person can replay them by time', async () => {
    await deploy();
    expect(object('subscriptions/cloudfence-prod-events')).toMatchObject({
      retainAckedMessages: true,
      messageRetentionDuration: '604800s',
    });
  });

  it('tells each function which projects it serves, how long it may run, and how often events come', async () => {
    await deploy({ projects: ['shop-project', 'bank-project'], timeout: '30s', deliveries: 7 });
    for (const name of functionNames)
      expect(object(`locations/europe-west1/functions/cloudfence-prod-${name}`)).toMatchObject({
        serviceConfig: {
          timeoutSeconds: 30,
          environmentVariables: {
            CLOUDFENCE_PROJECTS: `${PROJECT},shop-project,bank-project`,
            CLOUDFENCE_TIMEOUT_SECONDS: '30',
            CLOUDFENCE_DELIVERIES: '7',
          },
        },
      });
  });

  it('runs each function with its own account, whose role has all its permissions in the project', async () => {
    await deploy();
    expect(object('roles/cloudfence_prod')).toMatchObject({
      includedPermissions: [
        'compute.disks.get',
        'compute.disks.use',
        'compute.instances.detachDisk',
        'compute.instances.get',
        'compute.zoneOperations.get',
      ],
    });
    const bound = google.store.policies.get(inProject)?.bindings ?? [];
    expect(bound.filter(({ members }) => members.includes(runner))).toEqual([
      { role: `${inProject}/roles/cloudfence_prod`, members: [runner] },
    ]);
    expect(bound[0]).toEqual({ role: 'roles/owner', members: ['user:owner@example.org'] });
    expect(membersOf(`${inProject}/secrets/prod-kubeconfig`, 'roles/secretmanager.secretAccessor')).toEqual([runner]);
    for (const name of functionNames) {
      expect(object(`locations/europe-west1/functions/cloudfence-prod-${name}`)).toMatchObject({
        state: 'ACTIVE',
        environment: 'GEN_2',
        buildConfig: {
          runtime: 'nodejs24',
          entryPoint: 'handler',
          serviceAccount: `${inProject}/serviceAccounts/cloudfence-prod-make@${PROJECT}.iam.gserviceaccount.com`,
        },
        serviceConfig: {
          serviceAccountEmail: (name === 'doctor' ? doctor : runner).slice(15),
          maxInstanceRequestConcurrency: 1,
          maxInstanceCount: name === 'on-event' ? 5 : 1,
        },
      });
    }
  });

  it('runs the doctor with an account that may only ask the sweep', async () => {
    await deploy({ policy: { unreachable: 'power-off' } });
    const places = [...google.store.policies].flatMap(([path, { bindings }]) =>
      bindings.flatMap(({ role, members }) => (members.includes(doctor) ? [`${role} on ${path}`] : [])),
    );
    expect(places).toEqual([`roles/run.invoker on ${inProject}/locations/europe-west1/services/cloudfence-prod-sweep`]);
    const variablesOf = (name: string) =>
      object(`locations/europe-west1/functions/cloudfence-prod-${name}`)?.['serviceConfig'];
    expect(variablesOf('doctor')).toMatchObject({
      environmentVariables: {
        CLOUDFENCE_ASKED_AT: `https://europe-west1-${PROJECT}.cloudfunctions.net/cloudfence-prod-sweep`,
      },
    });
    expect(variablesOf('sweep')).toMatchObject({ environmentVariables: { CLOUDFENCE_DOCTOR: doctor.slice(15) } });
    for (const name of ['on-event', 'replay', 'fence'])
      expect(JSON.stringify(variablesOf(name))).not.toMatch(/CLOUDFENCE_DOCTOR|ASKED_AT/);
  });

  it('keeps incidents in its own bucket, which nobody else can read and which stays', async () => {
    await deploy();
    const bucket = `cloudfence-prod-${PROJECT}`;
    const made = google.store.objects.get(`b/${bucket}`);
    expect(made).toMatchObject({
      location: 'europe-west1',
      iamConfiguration: { uniformBucketLevelAccess: { enabled: true }, publicAccessPrevention: 'enforced' },
      lifecycle: { rule: [{ action: { type: 'Delete' }, condition: { age: 400 } }, { condition: { age: 1 } }] },
    });
    expect(membersOf(`b/${bucket}`, 'roles/storage.objectUser')).toEqual([runner]);
    expect(membersOf(`${inProject}/topics/cloudfence-prod-incidents`, 'roles/pubsub.publisher')).toEqual([runner]);
    for (const name of ['on-event', 'sweep', 'replay', 'fence']) {
      expect(object(`locations/europe-west1/functions/cloudfence-prod-${name}`)).toMatchObject({
        serviceConfig: {
          environmentVariables: {
            CLOUDFENCE_INCIDENT_BUCKET: bucket,
            CLOUDFENCE_INCIDENT_TOPIC: `${inProject}/topics/cloudfence-prod-incidents`,
          },
        },
      });
    }
    await deploy({ incidentDays: 30 });
    expect(JSON.stringify(google.store.objects.get(`b/${bucket}`))).toContain('"age":30');
    await remove();
    expect(google.store.objects.has(`b/${bucket}`)).toBe(true);
    expect(membersOf(`b/${bucket}`, 'roles/storage.objectUser')).toEqual([]);
    expect(object('topics/cloudfence-prod-incidents')).toBeUndefined();
  });

  it('refuses a bucket of that name in another project, which could read the incidents', async () => {
    const bucket = { name: `cloudfence-prod-${PROJECT}`, projectNumber: '999', location: 'europe-west1' };
    google.store.objects.set(`b/${bucket.name}`, bucket);
    await expect(deploy()).rejects.toThrow(/belongs to another project/);
    expect(google.store.objects.get(`b/${bucket.name}`)).toEqual(bucket);
    expect(membersOf(`b/${bucket.name}`, 'roles/storage.objectUser')).toEqual([]);
  });

  it('keeps incidents in the user’s bucket, and sends them to the user’s topic, by parameter', async () => {
    const incidents = { incidentBucket: 'my-incidents', incidentTopic: 'projects/my-project/topics/incidents' };
    await deploy(incidents);
    for (const name of ['on-event', 'sweep', 'replay', 'fence'])
      expect(object(`locations/europe-west1/functions/cloudfence-prod-${name}`)).toMatchObject({
        serviceConfig: {
          environmentVariables: {
            CLOUDFENCE_INCIDENT_BUCKET: 'my-incidents',
            CLOUDFENCE_INCIDENT_TOPIC: 'projects/my-project/topics/incidents',
          },
        },
      });
    expect([...google.store.objects.keys()].filter((path) => path.startsWith('b/'))).toEqual([]);
    expect(object('topics/cloudfence-prod-incidents')).toBeUndefined();
  });

  it('stops machines, and asks GKE, only if the parameters say so', async () => {
    await deploy({
      policy: { unreachable: 'power-off' },
      clusters: [{ name: 'a', gke: { location: 'europe-west1', project: PROJECT } }],
    });
    expect(object('roles/cloudfence_prod')?.['includedPermissions']).toEqual(
      expect.arrayContaining(['compute.instances.stop', 'container.clusters.get']),
    );
  });

  it('sweeps every minute, and admits only the intended callers', async () => {
    await deploy({ invokers: ['user:me@example.org'] });
    expect(object('locations/europe-west1/jobs/cloudfence-prod-sweep')).toMatchObject({
      schedule: '*/1 * * * *',
      httpTarget: {
        uri: `${google.url}/call/cloudfence-prod-sweep`,
        oidcToken: { serviceAccountEmail: caller.slice(15) },
      },
    });
    const invokers = functionNames.map((name) =>
      membersOf(`${inProject}/locations/europe-west1/services/cloudfence-prod-${name}`, 'roles/run.invoker'),
    );
    expect(invokers).toEqual([
      [caller],
      [caller, doctor],
      ['user:me@example.org'],
      ['user:me@example.org'],
      ['user:me@example.org'],
      ['user:me@example.org'],
    ]);
  });

  it('removes callers that someone else has admitted', async () => {
    await deploy();
    const service = `${inProject}/locations/europe-west1/services/cloudfence-prod-on-event`;
    google.store.policies.set(service, {
      etag: 'other',
      bindings: [{ role: 'roles/run.invoker', members: ['allUsers', caller] }],
    });
    await deploy();
    expect(google.store.policies.get(service)?.bindings).toEqual([{ role: 'roles/run.invoker', members: [caller] }]);
  });
});

describe('a second deployment', () => {
  it('changes nothing', async () => {
    await deploy();
    const before = google.writes().length;
    await deploy();
    expect(google.writes().slice(before)).toEqual([]);
  });

  it('rebuilds the functions whose code differs, and nothing else', async () => {
    await deploy();
    const before = google.writes().length;
    await deploy({}, ' of tomorrow');
    const functions = functionNames.map(
      (name) => `PATCH /v2/${inProject}/locations/europe-west1/functions/cloudfence-prod-${name}`,
    );
    expect(google.writes().slice(before)).toEqual(functions);
  });

  it('corrects what was changed by hand', async () => {
    await deploy();
    const path = `${inProject}/sinks/cloudfence-prod-events`;
    const there = google.store.objects.get(path);
    google.store.objects.set(path, { ...there, filter: 'severity>=ERROR' });
    await deploy();
    expect(google.store.objects.get(path)).toEqual(there);
  });

  it('keeps other entries of a policy, even if they are written meanwhile', async () => {
    google.store.policies.set(inProject, {
      etag: 'other',
      bindings: [{ role: 'roles/viewer', members: ['group:all@example.org'] }],
    });
    google.store.races = 3;
    await deploy();
    const roles = google.store.policies.get(inProject)?.bindings.map(({ role }) => role);
    expect(roles?.slice(0, 4)).toEqual([
      'roles/viewer',
      expect.stringContaining('roles/other'),
      expect.stringContaining('roles/other'),
      expect.stringContaining('roles/other'),
    ]);
    expect(roles?.at(-1)).toBe(`${inProject}/roles/cloudfence_prod`);
  });
});

describe('a removal', () => {
  it('leaves nothing except incidents, and a custom role, whose ID would be blocked for weeks', async () => {
    await deploy();
    await remove();
    const left = [...google.store.objects.keys()].filter((path) => !emptyStore().objects.has(path));
    expect(left.toSorted()).toEqual([`b/cloudfence-prod-${PROJECT}`, `${inProject}/roles/cloudfence_prod`]);
    expect(google.store.policies.get(inProject)?.bindings).toEqual(emptyStore().policies.get(inProject)?.bindings);
    expect(membersOf(`${inProject}/secrets/prod-kubeconfig`, 'roles/secretmanager.secretAccessor')).toEqual([]);
  });

  it('may be repeated, and may follow an interrupted deployment', async () => {
    await remove();
    expect(google.writes()).toEqual([]);
  });

  it('continues if a secret that the functions could read is deleted', async () => {
    await deploy();
    google.store.objects.delete(`${inProject}/secrets/prod-kubeconfig`);
    await remove();
    expect([...google.store.objects.keys()].filter((path) => path.includes('cloudfence-prod'))).toEqual([
      `b/cloudfence-prod-${PROJECT}`,
    ]);
  });

  it('does not touch a function that has our name but not our label', async () => {
    await deploy();
    const theirs = `${inProject}/locations/europe-west1/functions/cloudfence-prod-fence`;
    google.store.objects.set(theirs, { ...google.store.objects.get(theirs), labels: { team: 'other' } });
    await expect(remove()).rejects.toThrow(/cloudfence-prod-fence does not have the label cloudfence-source/);
    expect(google.store.objects.has(theirs)).toBe(true);
  });
});

describe('the custom role', () => {
  const DAY = 24 * 3_600_000;
  const roleOf = () =>
    google.store.policies.get(inProject)?.bindings.find(({ members }) => members.includes(runner))?.role;
  const deletedBefore = (days: number) => {
    google.store.deletedRoles.set(`${inProject}/roles/cloudfence_prod`, google.store.now);
    google.store.now += days * DAY;
  };

  it.each([0, 3, 20, 60])('is unchanged if a removal is followed by a deployment %d days later', async (days) => {
    await deploy();
    await remove();
    google.store.now += days * DAY;
    await deploy({ policy: { unreachable: 'power-off' } });
    expect(roleOf()).toBe(`${inProject}/roles/cloudfence_prod`);
    expect(object('roles/cloudfence_prod')?.['includedPermissions']).toContain('compute.instances.stop');
  });

  it.each([
    [1, 'is restored', false, 'cloudfence_prod'],
    [8, 'is replaced by one with another id', false, 'cloudfence_prod.2'],
    [8, 'is replaced by one with another id, although it is still listed', true, 'cloudfence_prod.2'],
    [38, 'is created again', false, 'cloudfence_prod'],
  ])('that was deleted %d days ago %s', async (days, _, showsPurged, id) => {
    google.store.showsPurged = showsPurged;
    await deploy();
    await remove();
    deletedBefore(days);
    await deploy();
    expect(roleOf()).toBe(`${inProject}/roles/${id}`);
    expect(object(`roles/${id}`)).toMatchObject({
      title: 'cloudfence-prod',
      includedPermissions: expect.arrayContaining(['compute.instances.get']),
    });
  });

  it('keeps its ID when the first ID is free again', async () => {
    await deploy();
    await remove();
    deletedBefore(8);
    await deploy();
    google.store.now += 60 * DAY;
    const writes = google.writes().length;
    await deploy();
    expect([roleOf(), google.writes().slice(writes)]).toEqual([`${inProject}/roles/cloudfence_prod.2`, []]);
    await remove();
    expect(roleOf()).toBeUndefined();
  });
});
