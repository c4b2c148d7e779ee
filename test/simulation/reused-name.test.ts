import { expect, it } from 'vitest';
import { run } from '../../fencing/loop/run.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { never } from '../sandbox/in-process.ts';
import { attacherDown } from './incidents.ts';
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
