import { describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { doctor as onLambda } from '../../functions/aws/doctor.ts';
import { handlerWithDoctor } from '../../functions/aws/lambda.ts';
import { answerAccessQuestion, doctor } from '../../functions/doctor.ts';
import type { ExaminedFunction, NamingDependencies } from '../../functions/dependencies.ts';
import { createCluster, openConnection } from '../../kubernetes/cluster.ts';
import { createCapControl } from '../../kubernetes/ledger.ts';
import { createDoctor } from '../../kubernetes/doctor.ts';
import { FENCED_LABEL } from '../../kubernetes/names.ts';
import type { TestChain } from '../../providers/plugin.ts';
import { apiOf } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { silence } from '../diagnosis/sandbox-diagnosis.ts';
import { fence } from '../simulation/ends.ts';
import { stopped } from '../simulation/incidents.ts';
import { installOver } from './install.ts';

type Orders = readonly { readonly what: string; readonly verdict: 'ok' | 'warn' | 'fail'; readonly says: string }[];

/** `orders`: the answers of the cloud to the destructive calls of this identity. */
const wiredWith = ({
  destructiveCalls = [],
  fencers,
  readers,
  viewDisks,
  testChain,
}: {
  readonly destructiveCalls?: Orders;
  readonly fencers?: readonly ExaminedFunction[];
  readonly readers?: readonly ExaminedFunction[];
  readonly viewDisks?: NamingDependencies['openedCloud']['viewDisks'];
  readonly testChain?: TestChain;
} = {}) => {
  const { world, scene } = stopped();
  const install = installOver(world);
  const cluster = clusterIn(world, apiOf(world));
  const openClusters = [
    {
      cluster: createCluster(cluster),
      doctor: async () => createDoctor(openConnection(cluster), cluster.link),
      cap: async () => createCapControl(openConnection(cluster)),
      status: () => Promise.reject(new Error('not asked')),
      aftermath: () => Promise.reject(new Error('not asked')),
      connection: () => Promise.reject(new Error('not asked')),
      diagnosis: () => Promise.reject(new Error('not asked')),
      open: async () => undefined,
      close: async () => undefined,
    },
  ];
  const nothing = () => Promise.reject(new Error('not asked'));
  const asked: string[] = [];
  const openedCloud = {
    cloud: install.dependencies.ports.cloud,
    probes: [
      {
        where: 'aws',
        ask: async () => 'EC2 answers',
        destructiveCalls: async ({ machines }: { readonly machines: readonly string[] }) => (
          asked.push(...machines),
          destructiveCalls
        ),
      },
    ],
    readHints: () => ({ hints: [], faults: [], ignored: [] }),
    viewDisks: viewDisks ?? install.dependencies.openedCloud.viewDisks,
    driverFaultOf: () => null,
    access: { managedCluster: nothing, secret: nothing, parameter: nothing },
  };
  const getDependencies = async () => ({
    ...install.dependencies,
    openedCloud,
    openClusters,
    ...(fencers && { fencers }),
    ...(readers && { readers }),
    ...(testChain && { testChain }),
  });
  return {
    world,
    scene,
    asked,
    wired: getDependencies,
    limit: install.context(),
    history: install.history,
    ask: (question: unknown) => doctor(getDependencies)(question, install.context()),
  };
};

const denied: Orders = [{ what: 'may detach disks', verdict: 'fail', says: 'EC2 denies ec2:DetachVolume' }];

it('checks everything from inside the function', async () => {
  const { ask } = wiredWith();
  expect(await ask({})).toMatchObject({
    verdict: 'ok',
    conclusion: { readiness: 'ready', missing: [], next: 'cloudfence sweep --dry-run' },
    checks: expect.arrayContaining([
      { what: 'aws: credentials and API access', verdict: 'ok', says: 'EC2 answers' },
      expect.objectContaining({ what: 'sandbox: may patch nodes', verdict: 'ok' }),
      expect.objectContaining({ what: 'sandbox: diagnose and status may read what they need', verdict: 'ok' }),
      expect.objectContaining({ what: 'sandbox: diagnose may ask the cloud about disks', verdict: 'ok' }),
    ]),
  });
});

it('answers in time about a cluster that never answers, and so does another function about its access', async () => {
  const { wired, limit } = wiredWith();
  const dependencies = await wired();
  const { clock, never } = silence(dependencies.ports.clock);
  const [own] = dependencies.openClusters;
  if (!own) throw new Error('no cluster');
  const openClusters = [{ ...own, doctor: never }];
  const silent = async () => ({ ...dependencies, openClusters, ports: { ...dependencies.ports, clock } });
  const unreachable = {
    what: 'sandbox: reachable',
    verdict: 'fail',
    says: 'the time limit ended before an answer arrived',
  };
  expect(await doctor(silent)({}, limit)).toMatchObject({
    verdict: 'fail',
    checks: expect.arrayContaining([unreachable]),
  });
  expect(await answerAccessQuestion({ question: 'access', machines: [] }, silent, true, limit)).toMatchObject({
    checks: expect.arrayContaining([unreachable]),
  });
});

it('only warns if the cloud does not say who holds a disk, because a fence works without a diagnosis', async () => {
  const { ask } = wiredWith({
    viewDisks: async () => {
      throw new PermissionDenied('EC2 denies ec2:DescribeVolumes');
    },
  });
  expect(await ask({})).toMatchObject({
    verdict: 'warn',
    conclusion: {
      readiness: 'ready-with-warnings',
      says: expect.stringMatching(/^a fence may work: 1 of \d+ checks warned, and none failed$/),
      missing: ['sandbox: diagnose may ask the cloud about disks'],
    },
    checks: expect.arrayContaining([
      {
        what: 'sandbox: diagnose may ask the cloud about disks',
        verdict: 'warn',
        says: expect.stringContaining('EC2 denies ec2:DescribeVolumes'),
      },
    ]),
  });
});

it('names the remedy if the ledger is missing', async () => {
  const { ask, world } = wiredWith();
  delete world.parts.cluster.objects.configmaps['kube-system/cloudfence-ledger'];
  const next = 'kubectl apply -f infra/kubernetes/rbac.yaml   # in cluster sandbox';
  expect(await ask({})).toMatchObject({
    conclusion: { readiness: 'not-ready', missing: ['sandbox: the ledger'], next },
    checks: expect.arrayContaining([
      {
        what: 'sandbox: the ledger',
        verdict: 'fail',
        says: expect.stringContaining('apply infra/kubernetes/rbac.yaml'),
        next,
      },
    ]),
  });
});

it('reads the place for incidents, and only warns if that is denied, because a fence works without it', async () => {
  const { ask, history } = wiredWith();
  const what = 'may read the place of incidents';
  expect(await ask({})).toMatchObject({
    checks: expect.arrayContaining([expect.objectContaining({ what, verdict: 'ok' })]),
  });
  history.trouble.before = () => Promise.reject(new PermissionDenied('S3 denies s3:GetObject'));
  expect(await ask({})).toMatchObject({
    verdict: 'warn',
    conclusion: { missing: [what] },
    checks: expect.arrayContaining([
      { what, verdict: 'warn', says: 'S3 denies s3:GetObject. A fence works, but no incident is kept of it' },
    ]),
  });
});

it('says which checks it could not make', async () => {
  expect(await wiredWith().ask({})).toMatchObject({
    notTried: [
      expect.stringMatching(/^Kubernetes: only the permission for each verb was checked/),
      expect.stringMatching(/^the functions: sending to the queues/),
    ],
  });
});

it('sends a test event only on request, and adds it to the other checks', async () => {
  const sent: string[] = [];
  const testChain: TestChain = {
    path: 'bus → on-event',
    notTried: null,
    remedy: 'look at the bus',
    next: 'serverless logs',
    send: async ({ id }) => void sent.push(id),
  };
  const { ask } = wiredWith({ testChain });
  expect(await ask({})).toMatchObject({ verdict: 'ok' });
  expect(sent).toEqual([]);
  expect(await ask({ question: 'test-event' })).toMatchObject({
    conclusion: { readiness: 'not-ready', missing: ['test event: bus → on-event'], next: 'serverless logs' },
    checks: expect.arrayContaining([expect.objectContaining({ what: 'sandbox: may patch nodes', verdict: 'ok' })]),
  });
  expect(sent).toHaveLength(1);
  await expect(wiredWith().ask({ question: 'test-event' })).rejects.toThrow('only a deployed doctor sends test events');
});

it('lists the unfinished fences, which a removal of the install checks first', async () => {
  const { ask, world, scene } = wiredWith();
  expect(await ask({ question: 'fences' })).toEqual({ fences: [] });
  await fence({ world, scene });
  expect(await ask({ question: 'fences' })).toEqual({
    fences: [{ cluster: 'sandbox', node: scene.nodeOf(scene.holder), instance: scene.holder }],
  });
});

it.each([
  ['even if someone removed its label', 'quarantine', true],
  ['but not if only a tombstone is left', 'tombstone', false],
])('reports a fence %s', async (_, left, stands) => {
  const { ask, world, scene } = wiredWith();
  await fence({ world, scene });
  world.advance(120_000);
  const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
  if (node)
    writerAs(world, 'person').change('nodes', node, (draft) => {
      if (left === 'quarantine') delete draft.metadata.labels?.[FENCED_LABEL];
      else
        Object.assign(draft, {
          metadata: {
            ...draft.metadata,
            annotations: {},
            labels: { ...draft.metadata.labels, [FENCED_LABEL]: 'run.1_removed_0000000aaaaaaa' },
          },
          spec: { ...draft.spec, taints: [] },
        });
    });
  expect(await ask({ question: 'fences' })).toEqual({
    fences: stands ? [expect.objectContaining({ node: scene.nodeOf(scene.holder), instance: scene.holder })] : [],
  });
});

it('rejects an unknown question', async () => {
  await expect(wiredWith().ask({ question: 'why' })).rejects.toThrow(/question is not valid/);
});

describe('if other functions with other roles fence', () => {
  /** A function that fences. The cloud answers to its role as given. */
  const fencerWith = (destructiveCalls: Orders): ExaminedFunction => {
    const its = wiredWith({ destructiveCalls });
    return {
      name: 'sweep',
      ask: async (question) =>
        handlerWithDoctor(its.wired, () => async () => Promise.reject(new Error('it fenced')))(question, its.limit),
    };
  };

  it('the doctor checks their roles, and not its own, which needs no such permission', async () => {
    const well = wiredWith({
      destructiveCalls: denied,
      fencers: [fencerWith([{ what: 'may detach disks', verdict: 'ok', says: 'allowed' }])],
    });
    expect(await well.ask({})).toMatchObject({
      verdict: 'ok',
      checks: expect.arrayContaining([
        expect.objectContaining({ what: 'sweep: access with its own role', verdict: 'ok' }),
      ]),
    });
    const ill = wiredWith({ fencers: [fencerWith(denied)] });
    expect(await ill.ask({})).toMatchObject({
      verdict: 'fail',
      checks: expect.arrayContaining([
        { what: 'sweep: aws: may detach disks', verdict: 'fail', says: 'EC2 denies ec2:DetachVolume' },
      ]),
    });
  });

  it('they try their calls on machines that Nodes name', async () => {
    const its = wiredWith();
    const well = wiredWith({
      fencers: [
        {
          name: 'sweep',
          ask: async (question) => handlerWithDoctor(its.wired, () => async () => null)(question, its.limit),
        },
      ],
    });
    await well.ask({});
    expect(its.asked).toContain(well.scene.holder);
  });

  it.each([
    ['that gives another answer', 'fail', async () => ({ batchItemFailures: [] })],
    ['that fails completely', 'fail', async () => Promise.reject(new Refused('it fails: no secret'))],
    [
      'that the doctor may not call',
      'warn',
      async () => Promise.reject(new PermissionDenied('lambda:InvokeFunction returned AccessDenied')),
    ],
    [
      'that does not answer',
      'warn',
      async () => Promise.reject(new Unavailable('lambda:InvokeFunction got no response')),
    ],
  ] as const)('reports one that %s: %s', async (_, verdict, ask) => {
    expect(await wiredWith({ fencers: [{ name: 'fence', ask }] }).ask({})).toMatchObject({
      verdict,
      checks: expect.arrayContaining([expect.objectContaining({ what: 'fence: access with its own role', verdict })]),
    });
  });
});

describe('another function, with its own role, that only reads', () => {
  const readerWith = (destructiveCalls: Orders, clusters = true): ExaminedFunction => {
    const its = wiredWith({ destructiveCalls });
    if (!clusters) delete its.world.parts.cluster.objects.configmaps['kube-system/cloudfence-ledger'];
    const handler = handlerWithDoctor(its.wired, () => async () => Promise.reject(new Error('it read')), false);
    return { name: 'diagnose', ask: async (question) => handler(question, its.limit) };
  };

  it('needs no permission for destructive calls', async () => {
    expect(await wiredWith({ readers: [readerWith(denied)] }).ask({})).toMatchObject({
      verdict: 'ok',
      checks: expect.arrayContaining([
        expect.objectContaining({ what: 'diagnose: access with its own role', verdict: 'ok' }),
      ]),
    });
  });

  it('only causes a warning, because a fence works without it', async () => {
    expect(await wiredWith({ readers: [readerWith([], false)] }).ask({})).toMatchObject({
      verdict: 'warn',
      checks: expect.arrayContaining([
        {
          what: 'diagnose: sandbox: the ledger',
          verdict: 'warn',
          says: expect.stringContaining('A fence works without it'),
          next: expect.any(String),
        },
      ]),
    });
  });
});

describe('on Lambda', () => {
  it('a doctor that finds a problem ends as a failed function, with a message and without a stack', async () => {
    const { wired: getDependencies, limit } = wiredWith({ destructiveCalls: denied });
    const failed = await onLambda(getDependencies)({}, limit).then(
      () => null,
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({
      name: 'ChecksFailed',
      stack: '',
      message: expect.stringMatching(
        /^NOT READY: a fence would not work.*\nFAIL {2}aws: may detach disks {2}— EC2 denies ec2:DetachVolume\nnext: fix the problems above/,
      ),
    });
  });
});
