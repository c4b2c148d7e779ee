import { describe, expect, it } from 'vitest';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { json } from '../../sandbox/cluster/api/wire.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import type { Troubles } from './ports.ts';
import { stateOf } from './state.ts';
import { allOff, byEvents, fenceOne, MINUTE } from './zone.ts';

describe('the ledger of fences', () => {
  const ledgerPath = /\/configmaps\/cloudfence-ledger$/;
  const ledgers = (world: AwsWorld) =>
    listObjects(world, 'configmaps').map(({ metadata, data }) => [metadata.name, data]);
  const denied = (methods: readonly string[]): Troubles => ({
    api: {
      before: ({ method, path }) =>
        methods.includes(method) && ledgerPath.test(path)
          ? json(403, {
              kind: 'Status',
              apiVersion: 'v1',
              status: 'Failure',
              reason: 'Forbidden',
              message: 'User cannot resource configmaps',
              code: 403,
            })
          : undefined,
    },
  });

  it.each([[['GET']], [['PATCH']]])(
    'without the permission to %j: no fence begins, and the remedy is named',
    async (methods) => {
      const { world, machines } = allOff(2);
      const [first = '', second = ''] = machines;
      await fenceOne(world, first, { cap: { share: 1, atOnce: 1 } });
      const before = stateOf(world);
      expect(await fenceOne(world, second, { cap: { share: 1, atOnce: 1 } }, denied(methods))).toMatchObject({
        outcome: 'failed',
        reason: { code: 'denied', says: expect.stringContaining('infra/kubernetes/rbac.yaml') },
        steps: [],
      });
      expect(stateOf(world)).toEqual(before);
    },
  );

  it('counts a fence whose end cannot be recorded, until it has left the window', async () => {
    const { world, machines } = allOff(9);
    const [first = '', second = ''] = machines;
    let patches = 0;
    const allButTheFirst: Troubles = {
      api: {
        before: ({ method, path }) =>
          method === 'PATCH' && ledgerPath.test(path) && (patches += 1) > 1 ? json(500, {}) : undefined,
      },
    };
    expect(await fenceOne(world, first, {}, allButTheFirst)).toMatchObject({ outcome: 'fenced' });
    expect(await fenceOne(world, second)).toMatchObject({ outcome: 'refused', reason: { code: 'cap-reached' } });
    world.advance(15 * MINUTE);
    expect(await fenceOne(world, second)).toMatchObject({ outcome: 'fenced' });
  });

  it.each([
    ['a dry run', { dryRun: true }],
    ['shadow mode', { shadow: true }],
  ])('is not written in %s, which still reports what the cap would say', async (_, policy) => {
    const { world, machines } = allOff(9);
    for (const machine of machines)
      expect(await fenceOne(world, machine, policy)).toMatchObject({ outcome: 'would-fence' });
    expect(ledgers(world)).toEqual([['cloudfence-ledger', undefined]]);
    for (let times = 0; times < 4; times += 1) await byEvents({ world, machines });
    const before = ledgers(world);
    expect(await fenceOne(world, machines.at(-1) ?? '', policy)).toMatchObject({
      outcome: 'refused',
      reason: { code: 'cap-reached' },
    });
    expect(ledgers(world)).toEqual(before);
  });

  it('admits all fences while a person overrides the cap, and counts them afterwards', async () => {
    const { world, machines } = allOff(9);
    const data = {
      'cap-lifted-until': new Date(world.now() + 30 * MINUTE).toISOString(),
      'cap-lifted-because': 'the zone is lost',
    };
    writerAs(world, 'admin').create('configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'kube-system', name: 'cloudfence' },
      data,
    });
    for (const machine of machines) expect(await fenceOne(world, machine)).toMatchObject({ outcome: 'fenced' });
    expect(ledgers(world).find(([name]) => name === 'cloudfence-ledger')?.[1]).toMatchObject({
      fences: expect.stringMatching(/^([\w-]{10} [\w-]{6} \d+ f 9\n?){9}$/),
    });
  });
});
