import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { powerOff, powerOffWithEvent } from '../scenes/power-off.ts';
import type { Scene } from '../scenes/scene.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import { worldOf, worldWith } from '../scenes/world.ts';
import { deployment } from '../scenes/workload.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

describe.concurrent('a Deployment with one volume', () => {
  it('is recreated on the other node', async () => {
    const scene = await openScene(testbed, 'recreate');
    const home = await scene.addNode();
    await scene.addClaim('data');
    await scene.create(deployment('web', 'Recreate', { claims: ['data'] }));
    const former = await scene.runs('web', home);
    const refuge = await scene.addRefuge();
    const { says, harmed } = await powerOff(scene, home);
    const successor = await scene.runs('web', refuge);
    expect(says.outcome).toBe('fenced');
    expect(successor.metadata.uid).not.toBe(former.metadata.uid);
    expect(uidsOf(scene)).toEqual([successor.metadata.uid]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { data: refuge }, [home]));
    expect(harmed()).toEqual([]);
  });

  it('continues with the pod of a rolling update that waited for it, when the handler gets the event', async () => {
    const scene = await openScene(testbed, 'rolling');
    const home = await scene.addNode();
    await scene.addClaim('data');
    await scene.create(deployment('web', 'RollingUpdate', { claims: ['data'] }));
    const former = await scene.runs('web', home);
    const refuge = await scene.addRefuge();
    const path = `/apis/apps/v1/namespaces/${scene.namespace}/deployments/web`;
    await testbed.admin.write('PATCH', `/api/v1/nodes/${home.name}`, { spec: { unschedulable: true } });
    await testbed.admin.write('PATCH', path, { spec: { template: { metadata: { annotations: { revision: '2' } } } } });
    await until('the new pod is refused the volume', async () =>
      saysMultiAttach(await testbed.admin.get(`/api/v1/namespaces/${scene.namespace}/events`)),
    );
    const waiting = uidsOf(scene).filter((uid) => uid !== former.metadata.uid);
    expect(waiting).toHaveLength(1);
    const { harmed } = await powerOffWithEvent(scene, home);
    await scene.runs('web', refuge);
    await until('the rolling update is through', async () => scene.pods('web').length === 1);
    expect(uidsOf(scene)).toEqual(waiting);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { data: refuge }, [home]));
  });
});

const uidsOf = ({ pods }: Scene): readonly string[] => pods('web').map(({ metadata }) => metadata.uid);

const saysMultiAttach = (events: unknown): boolean => JSON.stringify(events).includes('Multi-Attach error');
