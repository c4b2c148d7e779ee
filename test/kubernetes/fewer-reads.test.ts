import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { LookRequest } from '../../fencing/model/cluster.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { FENCED_LABEL, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import {
  ATTACHMENTS,
  CLAIMS,
  DRIVER,
  fresh,
  made,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  NODES,
  queryFor,
  recordFor,
  unhurried,
  usingClaim,
} from '../contract/cluster/harness.ts';
import { adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, faultyCluster, patientClock } from './wire.ts';

/** What a look does not read, because something else that it reads shows the same. */

const stage = () => {
  const calls: string[] = [];
  const cluster = faultyCluster({
    before: ({ method, path }) => {
      calls.push(`${method} ${path.split('?', 1)[0] ?? ''}`);
      return undefined;
    },
  });
  const look = async (machine: string, node: string, request: Partial<LookRequest> = {}) => {
    calls.length = 0;
    const facts = await cluster.cluster.look(
      { query: queryFor(machine), node, remembered: null, follow: [], ...request },
      unhurried(),
    );
    return { facts, calls: [...calls] };
  };
  return { ...cluster, look };
};

/** A pod with a claim, on a Node whose status reports the volume as attached. */
const attachedPod = async (phase: 'Bound' | 'Pending', attacher = DRIVER) => {
  const scene = stage();
  const [machine, handle] = [fresh('i'), fresh('vol')];
  const node = await makeNode(scene, { machine });
  const volume = await makeVolume(scene, handle);
  await scene.admin('PATCH', `${CLAIMS}/${volume}/status`, { status: { phase } });
  await made(scene, ATTACHMENTS, {
    metadata: { name: attachmentName({ driver: DRIVER, handle }, node.name) },
    spec: { attacher, nodeName: node.name, source: { persistentVolumeName: volume } },
  });
  const status = { volumesAttached: [{ name: `kubernetes.io/csi/${DRIVER}^${handle}`, devicePath: '' }] };
  await scene.admin('PATCH', `${NODES}/${node.name}/status`, { status });
  await makePod(scene, node.name, usingClaim(volume));
  return { ...scene, machine, node: node.name, handle, volume };
};

describe('the PersistentVolume of a claim', () => {
  it.each([
    ['is not read if the claim is bound, and the attachment shows the volume', 'Bound', DRIVER, 0],
    ['is read if the claim does not say that it is bound', 'Pending', DRIVER, 1],
    ['is read if the attachment is another driver’s', 'Bound', 'another.driver', 1],
  ] as const)('%s', async (_, phase, attacher, reads) => {
    const { look, machine, node, handle, volume } = await attachedPod(phase, attacher);
    const { facts, calls } = await look(machine, node);
    expect(calls.filter((call) => call.startsWith('GET /api/v1/persistentvolumes/'))).toHaveLength(reads);
    expect(facts.pods).toMatchObject([{ volumes: [`${DRIVER}^${handle}`], unresolved: [] }]);
    expect(facts.volumes).toMatchObject([{ handle, persistentVolume: volume, pvc: `default/${volume}` }]);
  });
});

/** A fenced Node whose volume is free, and a new pod on another Node that uses it. */
const movedPod = async (oldName: string, newName: string) => {
  const scene = stage();
  const [machine, handle] = [fresh('i'), fresh('vol')];
  const node = await makeNode(scene, { machine });
  const volume = await makeVolume(scene, handle);
  const record = recordFor(node, machine, {
    volumes: [{ driver: DRIVER, handle, persistentVolume: volume, attachment: 'gone' }],
    pods: [{ namespace: 'default', name: oldName, uid: 'old' }],
  });
  await scene.admin('PATCH', `${NODES}/${node.name}`, {
    metadata: {
      annotations: { [RECORD_ANNOTATION]: JSON.stringify(record) },
      labels: { [FENCED_LABEL]: record.fence },
    },
  });
  const next = fresh('node');
  await makePod(scene, next, usingClaim(volume), { name: newName });
  const { uid } = await makeAttachment(scene, attachmentName({ driver: DRIVER, handle }, next), next, volume);
  const { facts, calls } = await scene.look(machine, node.name);
  return { uid, facts, lists: calls.filter((call) => call === 'GET /api/v1/namespaces/default/pods') };
};

describe('the new attachment of a volume', () => {
  it.each([
    ['is found by the name of the old pod', 'db-0', 'db-0', 0],
    ['is found in the list of pods if the new pod has another name', 'web-a', 'web-b', 1],
  ])('%s', async (_, oldName, newName, most) => {
    const { uid, facts, lists } = await movedPod(oldName, newName);
    expect(facts.volumes).toMatchObject([{ attachment: null, successor: { uid } }]);
    expect(lists).toHaveLength(most);
  });
});

describe('what a look has read for a reservation', () => {
  const SETTINGS = '/api/v1/namespaces/kube-system/configmaps';
  const lifted = { 'cap-lifted-until': '2026-11-22T10:00:00Z', 'cap-lifted-because': 'a storm' };

  /** A look for a reservation while the cap is lifted. The lift ends right after it. */
  const admittedAfter = async (ms: number): Promise<boolean> => {
    const clock = patientClock();
    const server = sandboxServer({ now: clock.now });
    const scene = { cluster: clusterOver(inProcess(server), clock), admin: adminOf(server), now: clock.now };
    const [machine, first] = [fresh('i'), fresh('i')];
    const node = await makeNode(scene, { machine });
    await made(scene, SETTINGS, { metadata: { name: 'cloudfence' }, data: lifted });
    const reserve = (of: string) =>
      scene.cluster.reserve({ machine: of, boot: 'b', cap: defaultPolicy.cap, onlyAsked: false }, unhurried());
    await reserve(first);
    const request = {
      query: queryFor(machine),
      node: node.name,
      remembered: null,
      follow: [],
      beforeReservation: true,
    };
    await scene.cluster.look(request, unhurried());
    await scene.admin('PATCH', `${SETTINGS}/cloudfence`, { data: { 'cap-lifted-until': null } });
    await clock.sleep(ms, unhurried());
    return (await reserve(machine)).admitted;
  };

  it('serves for a second, and no longer', async () => {
    expect([await admittedAfter(900), await admittedAfter(1_100)]).toEqual([true, false]);
  });
});
