import { expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { run, runAll } from '../../fencing/loop/run.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { volumeIn } from '../../sandbox/ec2/state.ts';
import { never } from '../sandbox/in-process.ts';
import { attacherDown, nodeGone } from './incidents.ts';
import { clusterOver, freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';

const remove = (world: ReturnType<typeof attacherDown>['world'], kind: 'nodes' | 'leases', name: string): void => {
  for (const object of listObjects(world, kind).filter(({ metadata }) => metadata.name === name))
    writerAs(world, 'person').remove(kind, object);
};

it('the pods of a machine with the name of a dead one survive an event for the dead one', async () => {
  const { world, scene } = attacherDown();
  const name = scene.nodeOf(scene.holder);
  const dead = getObject(world, 'nodes', name);
  expect(stateOf(world).attachments).toEqual([expect.stringContaining(`to ${name} attached`)]);
  remove(world, 'nodes', name);
  remove(world, 'leases', name);
  addBarePod(world, { name: 'living', spec: { nodeName: name } });
  const living = getObject(world, 'pods', 'living', 'default');
  expect([dead === undefined, living?.spec.nodeName]).toEqual([false, name]);
  await run(freshRun(world, portsOver(world), { machine: scene.holder, lasts: 5_000 }), portsOver(world));
  expect(getObject(world, 'pods', 'living', 'default')?.metadata.uid).toBe(living?.metadata.uid);
  expect(getObject(world, 'pods', 'living', 'default')?.metadata.deletionTimestamp).toBeUndefined();
});

it('a disk leaves a dead machine although another one, which is gone as well, had the name of its Node', async () => {
  const { world, scene } = nodeGone();
  const name = scene.nodeOf(scene.holder);
  const own = listObjects(world, 'volumeattachments').find(({ spec }) => spec.nodeName === name);
  if (!own) throw new Error('the dead machine has an attachment');
  writerAs(world, 'attacher').create('volumeattachments', {
    apiVersion: own.apiVersion,
    kind: own.kind,
    metadata: { name: 'csi-of-another', annotations: { 'csi.alpha.kubernetes.io/node-id': 'i-00000000000000099' } },
    spec: { ...own.spec, source: { persistentVolumeName: 'pv-of-another' } },
    status: { attached: true },
  });
  world.advance(60_000);
  const runOptions = { policy: defaultPolicy, deadline: world.now() + 300_000, newRunId: () => 'run' };
  expect(await runAll([scene.holder], runOptions, portsOver(world))).toMatchObject([
    { outcome: 'refused', reason: { code: 'name-reused', says: expect.stringContaining(own.metadata.name) } },
  ]);
  // The attacher would ask the CSINode of the other machine, so the attachment stays for a person.
  expect(getObject(world, 'volumeattachments', own.metadata.name)).toBeDefined();
  expect(volumeIn(world, scene.volume)?.attachments).toEqual([]);
});

it('a disk leaves a machine without a Node even if its driver only claims to have detached it', async () => {
  const { world, scene } = attacherDown();
  const name = scene.nodeOf(scene.holder);
  remove(world, 'nodes', name);
  remove(world, 'leases', name);
  const claimDetached = (): void => {
    for (const attachment of listObjects(world, 'volumeattachments'))
      if (attachment.spec.nodeName === name && attachment.metadata.deletionTimestamp)
        writerAs(world, 'attacher').change('volumeattachments', attachment, (draft) => {
          draft.metadata.finalizers = [];
        });
  };
  const lying = {
    api: {
      before: () => {
        claimDetached();
        return undefined;
      },
    },
  };
  const ports = portsOver(world, lying);
  const outcome = await run(freshRun(world, ports, { machine: scene.holder }), ports);
  expect(outcome).toMatchObject({ outcome: 'fenced' });
  expect(getObject(world, 'nodes', name)).toBeUndefined();
  expect(volumeIn(world, scene.volume)?.attachments.map(({ instance }) => instance)).not.toContain(scene.holder);
});

const ANOTHER = 'aws:///eu-west-1a/i-00000000000000099';

it('a Node that is created while a look reads its pods belongs to another machine, and so do these pods', async () => {
  const { world, scene } = attacherDown();
  const name = scene.nodeOf(scene.holder);
  const former = getObject(world, 'nodes', name);
  remove(world, 'nodes', name);
  remove(world, 'leases', name);
  const cluster = clusterOver(world, {
    api: {
      before: ({ path }) => {
        if (former && path.startsWith('/api/v1/pods') && !getObject(world, 'nodes', name))
          writerAs(world, 'person').create('nodes', { ...former, metadata: { name }, spec: { providerID: ANOTHER } });
        return undefined;
      },
    },
  });
  const query = { machine: scene.holder, nodeNames: [], machineOf: portsOver(world).cloud.machineOf };
  const facts = await cluster.look({ query, node: null, remembered: null, successorsOf: [] }, never());
  expect(facts).toMatchObject({ node: null, nodeName: name, nameTaken: true, pods: [] });
});
