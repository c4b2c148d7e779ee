import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { addDatabase } from '../scenes/database.ts';
import { sweep } from '../entry-points/programs.ts';
import { until } from '../../testbed/until.ts';

/** A Lease is renewed every ten seconds, and counts as stale once it is a minute old. */
const STALE_MS = 61_000;

/** On its own control plane, because a sweep would also act on other scenarios’ machines. */
let testbed: OwnTestbed;
beforeAll(async () => {
  testbed = await openOwnTestbed();
});
afterAll(() => testbed?.close());

const lease = z.looseObject({ spec: z.looseObject({ renewTime: z.string() }) });

/** Pauses this cluster. An empty reason ends the pause. */
const pause = async (reason: string): Promise<void> => {
  const [path, map] = [
    '/api/v1/namespaces/kube-system/configmaps',
    { metadata: { name: 'cloudfence' }, data: { pause: reason } },
  ];
  const { status } = await testbed.admin.call('POST', path, map);
  if (status === 409) await testbed.admin.write('PATCH', `${path}/cloudfence`, map);
};

describe('when all events are lost', () => {
  it('a sweep finds the stopped machine, touches no living machine, and touches nothing during a pause', async () => {
    const [fallen, standing] = [await addDatabase(testbed), await addDatabase(testbed)];
    const former = standing.pod()?.metadata.uid;
    await fallen.home.stop();
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${fallen.home.name}`;
    await until(
      'the Lease is stale',
      async () => Date.now() - Date.parse(lease.parse(await testbed.admin.get(path)).spec.renewTime) > STALE_MS,
      90_000,
    );
    await pause('an upgrade of the storage');
    expect((await sweep(testbed.access)).map(({ instance, reason, steps }) => ({ instance, reason, steps }))).toEqual([
      { instance: fallen.home.instance, reason: 'paused: paused: an upgrade of the storage', steps: [] },
    ]);
    expect(await testbed.ec2.holderOf(fallen.disk)).toBe(fallen.home.instance);
    await pause('');
    const results = await sweep(testbed.access);
    expect(results.find(({ instance }) => instance === fallen.home.instance)).toMatchObject({ outcome: 'fenced' });
    expect(results.map(({ instance }) => instance)).not.toContain(standing.home.instance);
    await fallen.runsOn(fallen.refuge);
    expect(await testbed.ec2.holderOf(fallen.disk)).toBe(fallen.refuge.instance);
    expect(await testbed.ec2.holderOf(standing.disk)).toBe(standing.home.instance);
    expect(standing.pod()?.metadata.uid).toBe(former);
  });
});
