import { describe, expect, it } from 'vitest';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import type { WorkloadObject } from '../../sandbox/cluster/objects.ts';
import { storeOf, type Draft } from '../../sandbox/cluster/store.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { stage, stopped } from '../simulation/incidents.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addEvent, at } from './scenes.ts';

/** Pods that do not exist, because their workload cannot or may not create them yet. */

const NAME = { name: 'queue', namespace: 'default' } as const;

const template = (claim?: string): WorkloadObject['spec']['template'] => ({
  metadata: { labels: { app: 'queue' } },
  spec: {
    containers: [{ name: 'main', image: 'example.org/main:1' }],
    ...(claim !== undefined && { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }] }),
  },
});

/** Puts a workload into the store, and no controller notices it: the API server refuses what the controller creates. */
const put = (
  world: AwsWorld,
  resource: 'statefulsets' | 'deployments' | 'jobs',
  { kind, ...more }: Pick<WorkloadObject, 'kind' | 'spec'> & Partial<WorkloadObject>,
): WorkloadObject => {
  const apiVersion = kind === 'Job' ? 'batch/v1' : 'apps/v1';
  const draft: Draft<WorkloadObject> = { apiVersion, kind, metadata: NAME, ...more };
  const created = storeOf(world.parts.cluster).create(resource, draft, { user: 'person', at: world.now() });
  if (!created) throw new Error(`there is a ${kind} queue already`);
  return created;
};

/** The controller has tried to create a pod, and the API server has refused it. */
const refuses = (world: AwsWorld, { kind, metadata }: WorkloadObject, note: string): void =>
  addEvent(world, { kind, name: metadata.name, uid: metadata.uid }, 'FailedCreate', note);

const claims = [{ metadata: { name: 'data' } }];

const statefulSet = (replicas = 1): Pick<WorkloadObject, 'kind' | 'spec'> => ({
  kind: 'StatefulSet',
  spec: { replicas, serviceName: 'queue', template: template(), volumeClaimTemplates: claims },
});

/**
 * The words of the API server's admission plugins, behind those of the StatefulSet controller
 * (pkg/controller/statefulset/stateful_pod_control.go: recordClaimEvent, recordPodEvent).
 */
const CLAIM = 'create Claim data-queue-0 for Pod queue-0 in StatefulSet queue failed error: ';
const POD = 'create Pod queue-0 in StatefulSet queue failed error: ';

describe('a StatefulSet whose pod the API server refuses', () => {
  it.each([
    [
      'a quota of the claims',
      `${CLAIM}persistentvolumeclaims "data-queue-0" is forbidden: exceeded quota: storage, requested: requests.storage=100Gi, used: requests.storage=450Gi, limited: requests.storage=500Gi`,
      'describe resourcequota storage',
    ],
    [
      'the largest claim that the namespace allows',
      `${CLAIM}persistentvolumeclaims "data-queue-0" is forbidden: maximum storage usage per PersistentVolumeClaim is 50Gi, but request is 100Gi`,
      'describe limitrange',
    ],
    [
      'a webhook that denies it',
      `${POD}admission webhook "validate.kyverno.svc-fail" denied the request: policy Pod/default/queue-0 for resource violation`,
      'validate.kyverno.svc-fail refuses it on purpose',
    ],
    [
      'a webhook that does not answer',
      `${POD}Internal error occurred: failed calling webhook "mutate.kyverno.svc-fail": failed to call webhook: Post "https://kyverno-svc.kyverno.svc:443/mutate/fail?timeout=10s": no endpoints available for service "kyverno-svc"`,
      'mutate.kyverno.svc-fail does not answer',
    ],
    [
      'the security level of the namespace',
      `${POD}pods "queue-0" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false)`,
      'the namespace enforces restricted:latest',
    ],
    [
      'a service account that is missing',
      `${POD}pods "queue-0" is forbidden: error looking up service account default/queue: serviceaccount "queue" not found`,
      'create serviceaccount queue',
    ],
    [
      'a priority class that is missing',
      `${POD}pods "queue-0" is forbidden: no PriorityClass with name high was found`,
      'make the PriorityClass high',
    ],
    [
      'a namespace that is being deleted',
      `${POD}pods "queue-0" is forbidden: unable to create new content in namespace default because it is being terminated`,
      'set the reclaim policy of its PersistentVolumes to Retain now',
    ],
    ['a reason that no rule knows', `${POD}Pod "queue-0" is invalid: spec.hostname: Invalid value`, 'fix what the'],
  ])('because of %s', async (_, note, advice) => {
    const { world } = stage(1);
    refuses(world, put(world, 'statefulsets', statefulSet()), note);
    const cause = theCause(await diagnoseSandbox(world));
    expect(cause).toMatchObject({ kind: 'pod-refused', confidence: 'proved', ending: 'by-person' });
    expect(cause.says).toContain('Kubernetes cannot create default/queue-0: ');
    expect(cause.says).not.toContain('failed error');
    expect(cause.next.join('\n')).toContain(advice);
  });

  it('and has all its pods: an old event is no finding', async () => {
    const { world } = stage(1);
    addBoundClaim(world, 'data-queue-0', { driver: EBS, handle: addVolume(world), zone: 'eu-west-1a' });
    refuses(world, put(world, 'statefulsets', statefulSet(0)), `${POD}something`);
    expect((await diagnoseSandbox(world)).findings).toEqual([]);
  });
});

describe('a Deployment and a Job whose pods the API server refuses', () => {
  const quota = 'pods "queue-1" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=10, limited: pods=10';

  it('the Deployment says so in a condition, which outlives the events', async () => {
    const { world } = stage(1);
    put(world, 'deployments', {
      kind: 'Deployment',
      spec: { replicas: 1, template: template('queue-data') },
      status: {
        conditions: [
          {
            type: 'ReplicaFailure',
            status: 'True',
            reason: 'FailedCreate',
            message: quota,
            lastTransitionTime: at(world, -7_200_000),
          },
        ],
      },
    });
    const cause = theCause(await diagnoseSandbox(world));
    expect(cause).toMatchObject({ kind: 'pod-refused', ending: 'by-person' });
    expect(cause.says).toContain('a pod of Deployment default/queue: pods "queue-1" is forbidden');
  });

  it('the Job says so in an event', async () => {
    const { world } = stage(1);
    const job = put(world, 'jobs', { kind: 'Job', spec: { replicas: 1, template: template('queue-data') } });
    refuses(world, job, `Error creating: ${quota}`);
    const cause = theCause(await diagnoseSandbox(world));
    expect(cause.says).toMatch(/^Kubernetes cannot create a pod of Job default\/queue: pods "queue-1"/);
  });

  it('a workload without claims does not wait for a volume', async () => {
    const { world } = stage(1);
    const job = put(world, 'jobs', { kind: 'Job', spec: { replicas: 1, template: template() } });
    refuses(world, job, `Error creating: ${quota}`);
    expect((await diagnoseSandbox(world)).findings).toEqual([]);
  });
});

describe('a StatefulSet that creates its pods one after another', () => {
  const wantsTwo = (world: AwsWorld): void =>
    edit(world, 'statefulsets', ['db', 'default'], ({ spec }) => void (spec.replicas = 2));

  it('waits for the pod before, whose own cause is a finding, too', async () => {
    const { world } = stopped();
    world.advance(360_000);
    wantsTwo(world);
    const { findings, text } = await diagnoseSandbox(world);
    expect(findings.map(({ pod, cause }) => [pod, cause.kind, cause.ending])).toEqual([
      ['default/db-0', 'machine-off', 'by-fence'],
      [null, 'predecessor-not-ready', 'by-itself'],
    ]);
    expect(text).toMatchSnapshot('predecessor-not-ready');
  });

  it('and the claim of its pod is being deleted: the next claim gets an empty disk', async () => {
    const { world } = stage(1);
    addBoundClaim(world, 'data-db-1', { driver: EBS, handle: addVolume(world), zone: 'eu-west-1a' });
    edit(world, 'persistentvolumeclaims', ['data-db-1', 'default'], ({ metadata }) => {
      metadata.finalizers = ['snapshot.storage.kubernetes.io/pvc-as-source-protection'];
      metadata.deletionTimestamp = at(world, -30_000);
    });
    wantsTwo(world);
    const cause = theCause(await diagnoseSandbox(world));
    expect(cause).toMatchObject({ kind: 'claim-going', ending: 'by-person' });
    expect(cause.says).toContain('it creates a new claim, with an empty disk');
    expect(cause.next[0]).toMatch(/^kubectl patch pv pvc-default-data-db-1 .*Retain/);
  });
});
