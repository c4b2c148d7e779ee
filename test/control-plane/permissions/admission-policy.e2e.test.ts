import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Api, Method } from '../../testbed/api.ts';
import { MERGE, openApi } from '../../testbed/api.ts';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { until } from '../../testbed/until.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { addDatabase } from '../scenes/database.ts';

/**
 * The shipped admission policy on a real API server. It allows what Cloudfence does. It denies everything else that the
 * identity of Cloudfence might do, even if RBAC allows it. Then one whole fence and release run under the policy.
 */

const POLICY = fileURLToPath(new URL('../../../infra/kubernetes/admission-policy.yaml', import.meta.url));
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NODES = '/api/v1/nodes';
const PODS = '/api/v1/namespaces/default/pods';
const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';
const FENCED = 'cloudfence.node-restriction.kubernetes.io/fenced';
const STOPPING = 'cloudfence.node-restriction.kubernetes.io/stopping';

let testbed: OwnTestbed;
/** The identity of Cloudfence with more permissions than rbac.yaml grants, so that only the policy denies. */
let ours: Api;

const plural = z.object({ kind: z.enum(['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']) });

const applyPolicy = async (admin: Api): Promise<void> => {
  for (const document of parseAllDocuments(await readFile(POLICY, 'utf8'))) {
    const { kind } = plural.parse(document.toJS());
    await admin.write(
      'POST',
      `${ADMISSION}/${kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings'}`,
      document.toJS(),
    );
  }
};

const grantAll = async (admin: Api): Promise<void> => {
  await admin.write('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name: 'cloudfence-may-all' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'kube-system', name: 'cloudfence' }],
  });
};

beforeAll(async () => {
  testbed = await openOwnTestbed();
  ours = openApi(testbed.access.server, testbed.access.ca, testbed.access.tokens.cloudfence);
  await applyPolicy(testbed.admin);
});
afterAll(async () => {
  await ours?.close();
  await testbed?.close();
});

let count = 0;
const fresh = (kind: string): string => `${kind}-policy-${(count += 1)}`;

const meta = z.looseObject({
  metadata: z.looseObject({ name: z.string(), uid: z.string(), resourceVersion: z.string() }),
});
const made = async (path: string, body: object) => meta.parse(await testbed.admin.write('POST', path, body)).metadata;

const makeNode = (metadata: object = {}) =>
  made(NODES, {
    metadata: { name: fresh('node'), ...metadata },
    spec: { taints: [{ key: 'example.org/theirs', effect: 'NoSchedule' }] },
  });
const makePod = (metadata: object = {}) =>
  made(PODS, {
    metadata: { name: fresh('pod'), ...metadata },
    spec: { containers: [{ name: 'main', image: 'pause' }] },
  });
const makeAttachment = () =>
  made(ATTACHMENTS, {
    metadata: { name: fresh('csi') },
    spec: { attacher: 'nobody.example.org', nodeName: 'nowhere', source: { persistentVolumeName: 'none' } },
  });

const taintedNode = z.looseObject({
  spec: z.looseObject({ taints: z.array(z.looseObject({ key: z.string() })) }),
});
const taintsOf = async (path: string): Promise<readonly { readonly key: string }[]> =>
  taintedNode.parse(await testbed.admin.get(path)).spec.taints;

const said = z.looseObject({ message: z.string().default('') });
const answerOf = async (method: Method, path: string, body: unknown, type = MERGE) => {
  const { status, body: answer } = await ours.call(method, path, body, method === 'DELETE' ? 'application/json' : type);
  return { status, message: said.safeParse(answer).data?.message ?? '' };
};

/**
 * Kubernetes adds and removes its own taints on a Node without a kubelet. If it does so between our read and our write,
 * the write would undo that, and is denied. So the write is repeated.
 */
const takes = (path: string, change: (others: readonly unknown[]) => object): Promise<unknown> =>
  until('the Node takes the patch', async () => {
    const others = (await taintsOf(path)).filter(({ key }) => key !== OUT.key && key !== QUARANTINE.key);
    return (await answerOf('PATCH', path, change(others))).status === 200;
  });

const ALLOWED = { status: 200 };
const refused = (why: string) => ({ status: 422, message: expect.stringContaining(`denied request: ${why}`) });

const THEIRS = { key: 'example.org/theirs', effect: 'NoSchedule' };
const OUT = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoSchedule' };
const QUARANTINE = { key: 'cloudfence.dev/quarantine', value: 'fenced', effect: 'NoSchedule' };

describe('under the admission policy as shipped', () => {
  it('a whole fence and its release succeed', async () => {
    const database = await addDatabase(testbed);
    await database.home.stop();
    expect(await cloudfence(testbed.access, 'fence', database.home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced' },
    });
    await database.runsOn(database.refuge);
    await database.home.start();
    await until(`${database.home.name} is Ready`, async () =>
      (await database.readNode(database.home)).status.conditions.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ),
    );
    expect(await cloudfence(testbed.access, 'release', database.home.name, '--timeout', '90s')).toMatchObject({
      code: 0,
      says: { outcome: 'released' },
    });
  });
});

describe('under the admission policy, with every permission that RBAC can grant', () => {
  beforeAll(async () => {
    await grantAll(testbed.admin);
    const { name } = await makeNode();
    await until(
      'policy and grant are in force',
      async () => (await answerOf('PATCH', `${NODES}/${name}`, { spec: { unschedulable: true } })).status === 422,
    );
  });

  it('a Node accepts our taints, labels, and annotations, and their removal', async () => {
    const path = `${NODES}/${(await makeNode()).name}`;
    const marked = {
      labels: { [FENCED]: 'run.1', [STOPPING]: '2026-11-21T09-00-08Z_in_0123456789abcd' },
      annotations: { 'cloudfence.dev/fence': '{}' },
    };
    const free = { labels: { [FENCED]: null, [STOPPING]: null }, annotations: { 'cloudfence.dev/fence': null } };
    expect(await takes(path, (others) => ({ metadata: marked, spec: { taints: [...others, OUT, QUARANTINE] } }))).toBe(
      true,
    );
    expect(await takes(path, (others) => ({ metadata: free, spec: { taints: others } }))).toBe(true);
  });

  it.each([
    ['the removal of someone else’s taint', { spec: { taints: [OUT] } }, 'Cloudfence may change only its own taints'],
    [
      'another taint',
      { spec: { taints: [THEIRS, { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] } },
      'Cloudfence may change only its own taints',
    ],
    [
      'out-of-service with another effect',
      { spec: { taints: [THEIRS, { ...OUT, effect: 'NoExecute' }] } },
      'Cloudfence may change only its own taints',
    ],
    ['a cordon', { spec: { unschedulable: true } }, 'Cloudfence may change only taints in the spec of a Node'],
    [
      'a providerID',
      { spec: { providerID: 'aws:///z/i-1' } },
      'Cloudfence may change only taints in the spec of a Node',
    ],
    [
      'a role label',
      { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } },
      'Cloudfence may change only its own labels',
    ],
    [
      'an administrator’s opt-out',
      { metadata: { labels: { 'cloudfence.node-restriction.kubernetes.io/opt-out': 'x' } } },
      'Cloudfence may change only its own labels',
    ],
    [
      'another annotation',
      { metadata: { annotations: { 'csi.volume.kubernetes.io/nodeid': '{}' } } },
      'Cloudfence may change only its own annotations',
    ],
    [
      'a person’s acceptance of the machine',
      { metadata: { annotations: { 'cloudfence.dev/instance-id': '7' } } },
      'Cloudfence may change only its own annotations',
    ],
    [
      'a finalizer',
      { metadata: { finalizers: ['example.org/hold'] } },
      'Cloudfence may not change finalizers or owners',
    ],
  ])('a Node rejects %s', async (_, patch, why) => {
    expect(await answerOf('PATCH', `${NODES}/${(await makeNode()).name}`, patch)).toEqual(refused(why));
  });

  it('nobody writes the status of a Node, or creates a Node', async () => {
    const { name } = await makeNode();
    expect(await answerOf('PATCH', `${NODES}/${name}/status`, { status: { phase: 'Running' } })).toEqual(
      refused('Cloudfence may not create Nodes'),
    );
    const { status } = await ours.call('POST', NODES, { metadata: { name: fresh('node') } });
    expect(status).toBe(422);
  });

  it('a Node is deleted only with our label, by uid and resourceVersion', async () => {
    const fenced = await makeNode({ labels: { [FENCED]: 'true' } });
    const free = await makeNode();
    const why = 'Cloudfence may delete a Node only with its own label';
    /** The precondition comes before the policy, and controllers write to a new Node as well. */
    const answered = async ({ name }: typeof fenced) => {
      const { uid, resourceVersion } = meta.parse(await testbed.admin.get(`${NODES}/${name}`)).metadata;
      return answerOf('DELETE', `${NODES}/${name}`, { preconditions: { uid, resourceVersion } });
    };
    const settled = async (node: typeof fenced) => {
      for (;;) {
        const answer = await answered(node);
        if (answer.status !== 409) return answer;
      }
    };
    expect(await settled(free)).toEqual(refused(why));
    expect(await answerOf('DELETE', `${NODES}/${fenced.name}`, { preconditions: { uid: fenced.uid } })).toEqual(
      refused(why),
    );
    expect(await answerOf('DELETE', `${NODES}/${fenced.name}`, undefined)).toEqual(refused(why));
    expect(await settled(fenced)).toMatchObject(ALLOWED);
  });

  it('an attachment is only nudged, and deleted by uid', async () => {
    const { name, uid } = await makeAttachment();
    const path = `${ATTACHMENTS}/${name}`;
    expect(
      await answerOf('PATCH', path, { metadata: { annotations: { 'cloudfence.dev/nudge': 'now' } } }),
    ).toMatchObject(ALLOWED);
    expect(
      await answerOf('PATCH', path, { metadata: { annotations: { 'cloudfence.dev/nudge': null } } }),
    ).toMatchObject(ALLOWED);
    expect(
      await answerOf('PATCH', path, { metadata: { annotations: { 'csi.alpha.kubernetes.io/node-id': 'i-1' } } }),
    ).toEqual(refused('Cloudfence may change only its nudge in the annotations'));
    expect(await answerOf('PATCH', path, { metadata: { finalizers: ['example.org/hold'] } })).toEqual(
      refused('Cloudfence may change only its nudge in an attachment'),
    );
    expect(await answerOf('PATCH', `${path}/status`, { status: { attached: false } })).toEqual(
      refused('Cloudfence may not create attachments'),
    );
    expect(await answerOf('DELETE', path, undefined)).toEqual(refused('Cloudfence may delete attachments only by uid'));
    expect(await answerOf('DELETE', path, { preconditions: { uid } })).toMatchObject(ALLOWED);
  });

  it('a pod is failed if a finalizer or a Job requires it, and is deleted by uid', async () => {
    const held = await makePod({ finalizers: ['example.org/hold'] });
    const free = await makePod();
    const failed = { status: { phase: 'Failed', reason: 'NodeFenced', message: 'The machine under the Node is off.' } };
    expect(await answerOf('PATCH', `${PODS}/${free.name}/status`, failed)).toEqual(
      refused('Cloudfence may fail only pods of Jobs'),
    );
    expect(await answerOf('PATCH', `${PODS}/${held.name}/status`, { status: { phase: 'Succeeded' } })).toEqual(
      refused('Cloudfence may write only the phase Failed'),
    );
    expect(
      await answerOf('PATCH', `${PODS}/${held.name}/status`, { status: { ...failed.status, podIP: '10.0.0.1' } }),
    ).toEqual(refused('Cloudfence may change only phase, reason, and message in the status of a pod'));
    expect(await answerOf('PATCH', `${PODS}/${held.name}`, { metadata: { labels: { x: 'y' } } })).toEqual(
      refused('Cloudfence may not create or change pods'),
    );
    expect(await answerOf('PATCH', `${PODS}/${held.name}/status`, failed)).toMatchObject(ALLOWED);
    expect(await answerOf('DELETE', `${PODS}/${free.name}?gracePeriodSeconds=0`, undefined)).toEqual(
      refused('Cloudfence may delete pods only by uid'),
    );
    expect(
      await answerOf('DELETE', `${PODS}/${free.name}?gracePeriodSeconds=0`, {
        gracePeriodSeconds: 0,
        preconditions: { uid: free.uid },
      }),
    ).toMatchObject(ALLOWED);
  });

  it('no ConfigMap is written except the ledger', async () => {
    expect(
      await answerOf('PATCH', '/api/v1/namespaces/kube-system/configmaps/cloudfence-ledger', {
        metadata: { labels: { seen: 'x' } },
      }),
    ).toMatchObject(ALLOWED);
    const maps = '/api/v1/namespaces/kube-system/configmaps';
    await testbed.admin.write('POST', maps, { metadata: { name: 'cloudfence' }, data: {} });
    expect(
      await answerOf('PATCH', `${maps}/cloudfence`, { data: { 'cap-lifted-until': '2099-01-01T00:00:00Z' } }),
    ).toEqual(refused('Cloudfence may write only the ConfigMap that is its ledger'));
    expect(await answerOf('DELETE', `${maps}/cloudfence-ledger`, undefined)).toEqual(
      refused('Cloudfence may write only the ConfigMap that is its ledger'),
    );
  });

  it('other users can write as before', async () => {
    const { name } = await makeNode();
    await testbed.admin.write('PATCH', `${NODES}/${name}`, { spec: { unschedulable: true } });
    expect((await testbed.admin.call('DELETE', `${NODES}/${name}`)).status).toBe(200);
  });
});
