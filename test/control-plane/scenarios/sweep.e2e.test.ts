import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { OwnBench } from '../bench/bench.ts';
import { openOwnBench } from '../bench/bench.ts';
import { addDatabase } from '../scenes/database.ts';
import { sweep } from '../doors/doors.ts';
import { until } from '../bench/until.ts';

/** A Lease is renewed every ten seconds, and counts as stale once it is a minute old. */
const STALE_MS = 61_000;

/** On a control plane of its own: a sweep would take other scenarios’ machines too. */
let bench: OwnBench;
beforeAll(async () => {
  bench = await openOwnBench();
});
afterAll(() => bench?.close());

const lease = z.looseObject({ spec: z.looseObject({ renewTime: z.string() }) });

describe('with all events lost', () => {
  it('a sweep finds the stopped machine by its silence, and leaves the living ones alone', async () => {
    const [fallen, standing] = [await addDatabase(bench), await addDatabase(bench)];
    const former = standing.pod()?.metadata.uid;
    await fallen.home.stop();
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${fallen.home.name}`;
    await until('the Lease is stale', async () => Date.now() - Date.parse(lease.parse(await bench.admin.get(path)).spec.renewTime) > STALE_MS, 90_000);
    const results = await sweep(bench.access);
    expect(results.find(({ instance }) => instance === fallen.home.instance)).toMatchObject({ outcome: 'fenced' });
    expect(results.map(({ instance }) => instance)).not.toContain(standing.home.instance);
    await fallen.runsOn(fallen.refuge);
    expect(await bench.ec2.holderOf(fallen.disk)).toBe(fallen.refuge.instance);
    expect(await bench.ec2.holderOf(standing.disk)).toBe(standing.home.instance);
    expect(standing.pod()?.metadata.uid).toBe(former);
  });
});
