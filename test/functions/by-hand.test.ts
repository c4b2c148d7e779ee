import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../fencing/model/errors.ts';
import { fence } from '../../functions/aws/fence.ts';
import { onEvent } from '../../functions/aws/on-event.ts';
import { replay } from '../../functions/aws/replay.ts';
import { sweep } from '../../functions/sweep.ts';
import { FENCED_LABEL } from '../../kubernetes/names.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { startMachine, stopped, stopMachine } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { batchOf, installOver, stateChange } from './install.ts';

const never = async () => ({ replay: 'none', state: 'none' });

describe('replay', () => {
  it.each([
    ['a raw event', (id: string) => stateChange(id)],
    ['a whole batch', (id: string) => batchOf(stateChange(id), stateChange(id))],
    ['an instance id', (id: string) => ({ instanceId: id })],
  ])('accepts %s, and answers as the CLI does', async (_, eventFor) => {
    const { world, scene } = stopped();
    const install = installOver(world);
    expect(
      await replay(async () => install.dependencies, never)(eventFor(scene.holder), install.context()),
    ).toMatchObject({
      outcome: 'fenced',
      instance: scene.holder,
      mode: 'taint',
      dryRun: false,
    });
  });

  it.each([
    ['next to it', (instanceId: string) => ({ instanceId, dryRun: true })],
    ['in a text', (instanceId: string) => JSON.stringify({ instanceId, dryRun: true })],
    ['after a byte order mark', (instanceId: string) => `\uFEFF${JSON.stringify({ instanceId, dryRun: true })}`],
    ['in a list', (instanceId: string) => [{ instanceId }, { instanceId, dryRun: true }]],
    [
      'on a line',
      (instanceId: string) => `${JSON.stringify({ instanceId })}\n${JSON.stringify({ instanceId, dryRun: true })}`,
    ],
    ['in a record', (instanceId: string) => batchOf({ instanceId, dryRun: true })],
    ['next to a batch', (instanceId: string) => ({ ...batchOf({ instanceId }), dryRun: true })],
  ])('changes nothing in a dry run, requested %s', async (_, eventFor) => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const before = stateOf(world);
    const answer = await replay(async () => install.dependencies, never)(eventFor(scene.holder), install.context());
    expect(answer).toMatchObject({
      outcome: 'would-fence',
      dryRun: true,
      steps: [
        { step: 'mark', result: 'dry-run' },
        { step: 'delete-pod', result: 'dry-run' },
      ],
    });
    expect(stateOf(world)).toEqual(before);
  });

  it.each(['true', 1, null])('does nothing if it is unclear whether a dry run is wanted (%j)', async (dryRun) => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const before = stateOf(world);
    await expect(
      replay(async () => install.dependencies, never)({ instanceId: scene.holder, dryRun }, install.context()),
    ).rejects.toThrow(/`dryRun` is neither true nor false/);
    expect(stateOf(world)).toEqual(before);
  });

  it('does nothing if a part of the event cannot be read, although the rest names a machine that is off', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const before = stateOf(world);
    const half = [stateChange(scene.holder), { hello: 'world' }];
    await expect(replay(async () => install.dependencies, never)(half, install.context())).rejects.toBeInstanceOf(
      InvalidInput,
    );
    expect(stateOf(world)).toEqual(before);
  });

  it('says which machine this install does not serve, and why', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const replayed = (event: unknown) => replay(async () => install.dependencies, never)(event, install.context());
    const elsewhere = stateChange(scene.spare, 'stopped', { region: 'ap-south-1' });
    const notServed = [{ instance: scene.spare, reason: expect.stringMatching(/^foreign: .*ap-south-1/) }];
    expect(await replayed(elsewhere)).toEqual({ results: [], notServed });
    expect(await replayed([elsewhere, stateChange(scene.holder)])).toMatchObject({
      results: [{ instance: scene.holder, outcome: 'fenced' }],
      notServed,
    });
  });

  it('starts the replay of a time range of an archive', async () => {
    const install = installOver(stopped().world);
    const started = async ({ from, to }: { from: string; to: string }) => ({
      replay: `${from}..${to}`,
      state: 'STARTING',
    });
    const range = { replay: { from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:00:00Z' } };
    expect(await replay(async () => install.dependencies, started)(range, install.context())).toEqual({
      replay: '2026-01-01T00:00:00Z..2026-01-01T01:00:00Z',
      state: 'STARTING',
    });
    await expect(
      replay(async () => install.dependencies, started)({ replay: { from: 'yesterday' } }, install.context()),
    ).rejects.toThrow(/range is not valid/);
  });

  it('rejects what it cannot read, and says what, where, and how to correct it', async () => {
    const install = installOver(stopped().world);
    await expect(
      replay(async () => install.dependencies, never)({ instanceId: 'my-node' }, install.context()),
    ).rejects.toThrow(/instanceId.*name one instance/);
  });
});

describe('fence', () => {
  it.each(['pod/default/db-0', 'pvc/default/data-db-0', 'pv/pvc-default-data-db-0', 'vol-00000000000000005'])(
    'fences the machine that %s leads to',
    async (target) => {
      const { world, scene } = stopped();
      const install = installOver(world);
      const answer = await fence(async () => install.dependencies)({ target }, install.context());
      expect(answer).toMatchObject({ outcome: 'fenced', instance: scene.holder });
    },
  );

  it.each([
    [{ target: 'pod/default/none' }, /there is no pod default\/none/],
    [{ target: 'pod/default/db-0', instanceId: 'i-00000000000000001' }, /"instanceId" or "target", not both/],
    [{ target: 'pod/default/db-0', assertOff: true, reason: 'I looked' }, /statement about one machine/],
    [{ target: 7 }, /instanceId.*target/s],
    [{ target: 'pod/default/db-0', dryrun: true }, /dryrun/],
  ])('does nothing for %j', async (order, words) => {
    const { world } = stopped();
    const before = stateOf(world);
    const install = installOver(world, { vouching: 'accepted' });
    await expect(fence(async () => install.dependencies)(order, install.context())).rejects.toThrow(words);
    expect(stateOf(world)).toEqual(before);
  });

  const hibernated = () => {
    const incident = stopped();
    const { world, scene } = incident;
    const kept = world.parts.ec2.instances[scene.holder];
    const instance = instanceIn(world, scene.holder);
    if (kept && instance)
      world.parts.ec2.instances[scene.holder] = {
        ...kept,
        present: {
          ...instance,
          canHibernate: true,
          stateReason: { code: 'Client.UserInitiatedHibernate', message: '' },
        },
      };
    return incident;
  };

  it('accepts a person’s statement if the configuration allows it, and the record contains it', async () => {
    const { world, scene } = hibernated();
    const order = { instanceId: scene.holder, assertOff: true, reason: 'memory image deleted' };
    const strict = installOver(world);
    expect(await fence(async () => strict.dependencies)(order, strict.context())).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(/^vouching-refused/),
    });
    const lenient = installOver(world, { vouching: 'accepted' });
    for (const unstated of [{}, { reason: order.reason }, { assertOff: false, reason: order.reason }])
      expect(
        await fence(async () => lenient.dependencies)({ instanceId: scene.holder, ...unstated }, lenient.context()),
      ).toMatchObject({
        outcome: 'refused',
        reason: expect.stringMatching(/^suspended/),
      });
    expect(await fence(async () => lenient.dependencies)(order, lenient.context())).toMatchObject({
      outcome: 'fenced',
    });
    expect(JSON.stringify(world.parts.cluster.objects.nodes)).toContain('memory image deleted');
  });

  it.each([
    ['no reason', { instanceId: 'i-0123456789abcdef0', assertOff: true }, /say what you checked/],
    ['no machine', { dryRun: true }, /instanceId/],
    ['an extra field', { instanceId: 'i-0123456789abcdef0', force: true }, /force/],
  ])('rejects a request with %s', async (_, order, words) => {
    const install = installOver(stopped().world);
    await expect(fence(async () => install.dependencies)(order, install.context())).rejects.toThrow(words);
  });
});

describe('sweep', () => {
  it('fences machines whose events were lost, and counts the dead machines that it leaves unfenced', async () => {
    const { world, scene } = stopped();
    world.advance(60_000);
    const install = installOver(world);
    expect(await sweep(async () => install.dependencies)({}, install.context())).toMatchObject({
      results: [{ outcome: 'fenced', instance: scene.holder }],
      unreachable: [],
    });
    expect(install.lines.at(-1)).toMatchObject({ decision: 'swept', DeadNodeUnfenced: 0 });
    stopMachine(world, scene.spare);
    world.advance(120_000);
    const opted = world.parts.cluster.objects.nodes[`/${scene.nodeOf(scene.spare)}`];
    if (opted) opted.metadata.annotations = { ...opted.metadata.annotations, 'cloudfence.dev/opt-out': 'mine' };
    expect(await sweep(async () => install.dependencies)({}, install.context())).toMatchObject({
      results: [{ outcome: 'refused' }],
    });
    expect(install.lines.at(-1)).toMatchObject({ DeadNodeUnfenced: 1 });
  });
});

describe('a machine that nothing knows', () => {
  const NOBODY = 'i-0123456789abcdef0';

  it('is an error for a person who asks to fence it, and says what, where, and how to correct it', async () => {
    const install = installOver(stopped().world);
    const answer = fence(async () => install.dependencies)({ instanceId: NOBODY }, install.context());
    await expect(answer).rejects.toThrow(
      new RegExp(`the cloud does not know ${NOBODY}, and no Node.* in .* belongs to it\\. Check the id, and whether`),
    );
    await expect(answer).rejects.toBeInstanceOf(InvalidInput);
  });

  it('is ignored in an event about it', async () => {
    const install = installOver(stopped().world);
    const sent = { ...stateChange(NOBODY) };
    expect(await onEvent(async () => install.dependencies)(batchOf(sent), install.context())).toEqual({
      batchItemFailures: [],
    });
    expect(install.dead).toEqual([]);
  });
});

it('makes a dry run in the same way with a queue and without', async () => {
  const { world, scene } = stopped();
  const install = installOver(world);
  const before = stateOf(world);
  const wanted = { instanceId: scene.holder, dryRun: true };
  expect(await onEvent(async () => install.dependencies)(wanted, install.context())).toMatchObject({
    outcome: 'would-fence',
    dryRun: true,
  });
  expect(await onEvent(async () => install.dependencies)(batchOf(wanted), install.context())).toEqual({
    batchItemFailures: [],
  });
  expect(install).toMatchObject({
    dead: [],
    sentAgain: [],
    lines: expect.arrayContaining([
      expect.objectContaining({ decision: 'would-fence', dryRun: true, instance: scene.holder }),
    ]),
  });
  expect(stateOf(world)).toEqual(before);
});

it('answers an event that came without a queue in the same way as one that a person sent', async () => {
  const { world, scene } = stopped();
  const install = installOver(world);
  expect(await onEvent(async () => install.dependencies)(stateChange(scene.holder), install.context())).toMatchObject({
    outcome: 'fenced',
  });
});

describe('a release', () => {
  const ask = (install: ReturnType<typeof installOver>, order: object) =>
    fence(async () => install.dependencies)(order, install.context());
  const fenced = async () => {
    const incident = stopped();
    const install = installOver(incident.world);
    expect(await ask(install, { instanceId: incident.scene.holder })).toMatchObject({ outcome: 'fenced' });
    return { ...incident, install, node: incident.scene.nodeOf(incident.scene.holder) };
  };

  it.each([
    ['its Node', (node: string) => node],
    ['its Node with the kind', (node: string) => `node/${node}`],
    ['its machine', (_: string, machine: string) => machine],
  ])('of a machine that has booted again is granted for %s', async (_, named) => {
    const { world, scene, install, node } = await fenced();
    const order = { release: named(node, scene.holder) };
    expect(await ask(install, order)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(/^still-off/),
    });
    startMachine(world, scene.holder);
    world.advance(120_000);
    const before = stateOf(world);
    expect(await ask(install, { ...order, dryRun: true })).toMatchObject({ outcome: 'would-release', dryRun: true });
    expect(stateOf(world)).toEqual(before);
    expect(await ask(install, order)).toMatchObject({ outcome: 'released', node, instance: scene.holder });
    expect(getObject(world, 'nodes', node)?.metadata.labels).not.toHaveProperty(
      'cloudfence.node-restriction.kubernetes.io/fenced',
    );
    expect(install.lines).toContainEqual(expect.objectContaining({ decision: 'released', Outcome: 'released' }));
  });

  it('is answered after its incident is stored, because the platform may stop the process then', async () => {
    const { world, scene, install, node } = await fenced();
    startMachine(world, scene.holder);
    world.advance(120_000);
    const asked = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<void>();
    install.history.trouble.before = () => {
      asked.resolve();
      return stored.promise;
    };
    let isAnswered = false;
    const answer = ask(install, { release: node }).then((result) => {
      isAnswered = true;
      return result;
    });
    await asked.promise;
    await new Promise(setImmediate);
    expect(isAnswered).toBe(false);
    stored.resolve();
    expect(await answer).toMatchObject({ outcome: 'released' });
    expect(install.history.incidents()).toMatchObject([{ state: 'released' }]);
  });

  it('accepts a person’s statement if the configuration allows it, about a Node alone', async () => {
    const { world, scene, install: strict, node } = await fenced();
    await expect(ask(strict, { release: node, accept: 'looked at it' })).rejects.toThrow(/policy\.vouching/);
    const install = installOver(world, { vouching: 'accepted' });
    expect(await ask(install, { release: node, accept: 'looked at it' })).toMatchObject({
      outcome: 'released',
      instance: scene.holder,
    });
    await expect(ask(install, { release: 'pod/default/db-0', accept: 'looked at it' })).rejects.toThrow(/one Node/);
  });

  it('of a person concerns the Node that they named, although another Node of the machine has a fence', async () => {
    const { world, scene, node } = await fenced();
    const { metadata, spec = {}, status = {} } = getObject(world, 'nodes', node) ?? {};
    const { labels = {}, annotations = {} } = metadata ?? {};
    // A kubelet once registered the machine under another name.
    const other = { name: 'former-name', labels, annotations };
    writerAs(world, 'admin').create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: other, spec, status });
    const install = installOver(world, { vouching: 'accepted' });
    expect(await ask(install, { release: 'former-name', accept: 'looked at it' })).toMatchObject({
      outcome: 'released',
      instance: scene.holder,
      node: 'former-name',
    });
    const labelOf = (name: string) => getObject(world, 'nodes', name)?.metadata.labels?.[FENCED_LABEL];
    expect(labelOf(node)).toBe(labels[FENCED_LABEL]);
    expect(labelOf('former-name')).toMatch(/_removed_/);
  });

  it.each([
    [{ release: 7 }, /release/],
    [{ release: 'node-none' }, /node-none/],
    [{ release: 'x', accept: ' ' }, /accept/],
    [{ release: 'x', instanceId: 'i-00000000000000001' }, /instanceId/],
  ])('does nothing for %j', async (order, words) => {
    const { world, install } = await fenced();
    const before = stateOf(world);
    await expect(ask(install, order)).rejects.toThrow(words);
    expect(stateOf(world)).toEqual(before);
  });
});
