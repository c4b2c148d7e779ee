import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { doctor } from '../../../functions/gcp/doctor.ts';
import { fence } from '../../../functions/gcp/fence.ts';
import { replay } from '../../../functions/gcp/replay.ts';
import { sweep } from '../../../functions/gcp/sweep.ts';
import { createGceSandbox } from '../../../sandbox/gce-sandbox.ts';
import { stopGuest } from '../../../sandbox/gce/scenario.ts';
import { gceDatabaseOnTwoNodes, nodeNameOf } from '../../../sandbox/scenes/gce-database.ts';
import { openKeyServer, type KeyServer } from '../../providers/gcp/key-server.ts';
import { bearer, installOver } from './install.ts';

let keys: KeyServer;
beforeAll(async () => {
  keys = await openKeyServer();
});
afterAll(() => keys.close());

const stopped = () => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const scene = gceDatabaseOnTwoNodes(world);
  stopGuest(world, scene.holder);
  world.advance(120_000);
  const install = installOver(world, keys);
  return { world, ...scene, install, getDependencies: async () => install.dependencies };
};

const byHand = (body: unknown) => ({ headers: {}, body });

describe('sweep', () => {
  it('fences a machine whose events were lost', async () => {
    const { holder, install, getDependencies } = stopped();
    const answer = await sweep(getDependencies)({ headers: { authorization: bearer(keys) } }, install.limit());
    expect(answer).toMatchObject({
      status: 200,
      body: { results: [{ outcome: 'fenced', instance: holder }], unreachable: [] },
    });
    expect(install.lines.at(-1)).toMatchObject({ decision: 'swept', DeadNodeUnfenced: 0 });
  });

  it('accepts only Cloud Scheduler', async () => {
    const { install, getDependencies } = stopped();
    expect(await sweep(getDependencies)(byHand({}), install.limit())).toEqual({ status: 401 });
    expect(install.lines.map((line) => line['decision'])).toEqual(['not-let-in']);
  });
});

describe('fence and replay', () => {
  it('fence the machine that a pod leads to', async () => {
    const { holder, install, getDependencies } = stopped();
    expect(await fence(getDependencies)(byHand({ target: 'pod/default/db-0' }), install.limit())).toMatchObject({
      status: 200,
      body: { outcome: 'fenced', instance: holder },
    });
  });

  it('fence the machine that a person names, and leave no trace in a dry run', async () => {
    const { world, holder, install, getDependencies } = stopped();
    const before = JSON.stringify(world.parts.cluster.objects);
    expect(await fence(getDependencies)(byHand({ instance: holder, dryRun: true }), install.limit())).toMatchObject({
      status: 200,
      body: { outcome: 'would-fence', dryRun: true },
    });
    expect(JSON.stringify(world.parts.cluster.objects)).toBe(before);
    expect(await fence(getDependencies)(byHand({ instance: holder }), install.limit())).toMatchObject({
      body: { outcome: 'fenced', instance: holder, dryRun: false },
    });
  });

  it.each([
    ['a text', (body: object) => JSON.stringify(body)],
    ['bytes', (body: object) => Buffer.from(JSON.stringify(body))],
    ['a message', (body: object) => ({ message: { data: Buffer.from(JSON.stringify(body)).toString('base64') } })],
  ])('recognize a dry run in %s', async (_, sentAs) => {
    const { world, holder, install, getDependencies } = stopped();
    const before = JSON.stringify(world.parts.cluster.objects);
    expect(
      await replay(getDependencies)(byHand(sentAs({ instance: holder, dryRun: true })), install.limit()),
    ).toMatchObject({
      body: { outcome: 'would-fence', dryRun: true },
    });
    expect(JSON.stringify(world.parts.cluster.objects)).toBe(before);
  });

  it('accept any event as if it had just arrived', async () => {
    const { world, holder, install, getDependencies } = stopped();
    expect(await replay(getDependencies)(byHand(world.parts.gce.events.at(-1)), install.limit())).toMatchObject({
      body: { outcome: 'fenced', instance: holder },
    });
  });

  it.each([
    ['no machine', fence, { dryRun: true }, /instance/],
    ['an extra field', fence, { instance: 'projects/p/zones/z/instances/i', force: true }, /force/],
    ['a name that is not a path', fence, { instance: 'my-node' }, /not the path of an instance/],
    ['something that is not an event', replay, { hello: 'world' }, /not an event/],
  ])('reject a request with %s', async (_, order, body, words) => {
    const { install, getDependencies } = stopped();
    await expect(order(getDependencies)(byHand(body), install.limit())).rejects.toThrow(words);
  });
});

describe('doctor', () => {
  it('checks from inside the function and lists the unfinished fences', async () => {
    const { holder, install, getDependencies } = stopped();
    expect(await doctor(getDependencies)(byHand({}), install.limit())).toMatchObject({
      body: {
        checks: expect.arrayContaining([expect.objectContaining({ what: 'sandbox: may patch nodes', verdict: 'ok' })]),
      },
    });
    expect(await doctor(getDependencies)(byHand({ question: 'fences' }), install.limit())).toEqual({
      status: 200,
      body: { fences: [] },
    });
    await fence(getDependencies)(byHand({ instance: holder }), install.limit());
    expect(await doctor(getDependencies)(byHand({ question: 'fences' }), install.limit())).toEqual({
      status: 200,
      body: { fences: [{ cluster: 'sandbox', node: nodeNameOf(holder), instance: holder }] },
    });
  });
});
