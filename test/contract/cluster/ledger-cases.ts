import { beforeEach, describe, expect, it } from 'vitest';
import { PermissionDenied } from '../../../fencing/model/errors.ts';
import type { CapReservation } from '../../../fencing/model/ledger.ts';
import type { ClusterHarness } from './harness.ts';
import { fresh, made, makeNode, NODES, unhurried } from './harness.ts';

const MAPS = '/api/v1/namespaces/kube-system/configmaps';
const LEDGER = `${MAPS}/cloudfence-ledger`;

export const ledgerCases = (harness: () => ClusterHarness): void => {
  const text = async (): Promise<string> => {
    const { data } = (await harness().admin('GET', LEDGER)).body;
    return typeof data === 'object' && data !== null && 'fences' in data ? String(data.fences) : '';
  };
  const lines = async (): Promise<readonly string[]> => (await text()).split('\n').filter((line) => line !== '');
  const writes = (fences: string) => harness().admin('PATCH', LEDGER, { data: { fences } });
  const countNodes = async (): Promise<number> => {
    const { items } = (await harness().admin('GET', NODES)).body;
    return Array.isArray(items) ? items.length : 0;
  };
  /** Shares that are this many Nodes here. */
  const capOf = async (begun: number, unfinished = begun): Promise<CapReservation['cap']> => {
    while ((await countNodes()) < 25) await makeNode(harness());
    const nodes = await countNodes();
    return { share: (begun + 0.5) / nodes, atOnce: (unfinished + 0.5) / nodes };
  };
  const wanting = (cap: CapReservation['cap'], change: Partial<CapReservation> = {}): CapReservation => ({
    machine: fresh('i'),
    boot: 'boot-1',
    cap,
    onlyAsked: false,
    ...change,
  });
  const claim = (wanted: CapReservation) => harness().cluster.reserve(wanted, unhurried());

  beforeEach(async () => {
    await harness().admin('DELETE', LEDGER);
    await made(harness(), MAPS, { metadata: { name: 'cloudfence-ledger' } });
  });

  it('admits as many claims as the cap allows: three of twenty that come at the same time', async () => {
    const cap = await capOf(3);
    const says = await Promise.all(Array.from({ length: 20 }, () => claim(wanting(cap))));
    expect(says.filter(({ admitted }) => admitted)).toHaveLength(3);
    expect(await lines()).toHaveLength(3);
  });

  it('admits thirty claims that the cap allows, and counts each once', async () => {
    const cap = { share: 2, atOnce: 2 };
    await capOf(1);
    const says = await Promise.all(Array.from({ length: 30 }, () => claim(wanting(cap))));
    expect(says.every(({ admitted }) => admitted)).toBe(true);
    expect(await lines()).toHaveLength(30);
  });

  it('admits a fence that is already entered, whoever asks, and a fence of a later boot if there is room', async () => {
    const cap = await capOf(1);
    const wanted = wanting(cap);
    for (const again of [wanted, wanted, { ...wanted, boot: null }, { ...wanted, boot: 'boot-2' }])
      expect((await claim(again)).admitted).toBe(true);
    expect(await lines()).toHaveLength(1);
    expect(await claim(wanting(cap))).toMatchObject({
      admitted: false,
      begun: 1,
      unfinished: 1,
      limits: { begun: 1, unfinished: 1 },
    });
  });

  it('counts a fence that has ended for the share, but no longer as unfinished', async () => {
    const cap = await capOf(2, 1);
    const [first, second, third] = [wanting(cap), wanting(cap), wanting(cap)];
    await claim(first);
    expect((await claim(second)).admitted).toBe(false);
    await harness().cluster.conclude(first, unhurried());
    expect((await claim(second)).admitted).toBe(true);
    await harness().cluster.conclude(second, unhurried());
    expect(await claim(third)).toMatchObject({ admitted: false, begun: 2, unfinished: 0 });
  });

  it('does not end the fence of a later boot, if the run of the earlier one was frozen until then', async () => {
    const wanted = wanting(await capOf(2, 1));
    const later = { ...wanted, boot: 'boot-2' };
    for (const one of [wanted, later]) await claim(one);
    await harness().cluster.conclude(wanted, unhurried());
    expect((await lines()).map((line) => line.split(' ')[3])).toEqual(['o']);
    await harness().cluster.conclude(later, unhurried());
    expect((await lines()).map((line) => line.split(' ')[3])).toEqual(['f']);
  });

  it('ends the entry of a fence of which the cluster shows nothing any more, and no other entry', async () => {
    const cap = await capOf(3, 2);
    const ago = (minutes: number) => Math.floor(harness().now() / 1_000) - minutes * 60;
    await claim(wanting(cap));
    const [young] = await lines();
    const shown = wanting(cap);
    await claim(shown);
    const showing = ((await lines())[1] ?? '').split(' ')[0] ?? '';
    await writes(`dead------ boot-1 ${ago(3)} o 9\n${showing} boot-1 ${ago(3)} o 9\n${young ?? ''}`);
    // A minute after its reservation, a fence may not show in the cluster yet.
    await harness().cluster.concludeUnless([shown.machine], harness().now() - 2 * 60_000, unhurried());
    expect((await lines()).map((line) => line.split(' ')[3])).toEqual(['o', 'o', 'o']);
    await harness().cluster.concludeUnless([shown.machine], harness().now(), unhurried());
    expect((await lines()).map((line) => line.split(' ')[3])).toEqual(['f', 'o', 'o']);
    const before = (await harness().admin('GET', LEDGER)).body.metadata.resourceVersion;
    await harness().cluster.concludeUnless([shown.machine], harness().now(), unhurried());
    expect((await harness().admin('GET', LEDGER)).body.metadata.resourceVersion).toBe(before);
  });

  it('writes nothing in a dry run', async () => {
    const cap = await capOf(1);
    const before = (await harness().admin('GET', LEDGER)).body.metadata.resourceVersion;
    expect((await claim(wanting(cap, { onlyAsked: true }))).admitted).toBe(true);
    await writes('rubbish');
    expect((await claim(wanting(cap, { onlyAsked: true }))).admitted).toBe(false);
    expect([await text(), before]).toEqual(['rubbish', expect.any(String)]);
  });

  it.each([
    ['a time in a future year', 'AAAAAAAAAA - 253370764800 o 9'],
    ['rubbish', 'all your base\n'],
    ['a line that is too long', `${'A'.repeat(400)} - 1 o 9`],
  ])('counts %s as a fence that begins now, and ages it from then on', async (_, fences) => {
    const cap = await capOf(1);
    await writes(fences);
    expect((await claim(wanting(cap))).admitted).toBe(false);
    const seconds = Number((await lines())[0]?.split(' ')[2]);
    expect(Math.abs(seconds * 1_000 - harness().now())).toBeLessThan(60_000);
  });

  it('is never too long for a ConfigMap, whatever somebody wrote into it', async () => {
    const cap = await capOf(1);
    await writes(Array.from({ length: 150_000 }, (_, at) => at.toString(36)).join('\n'));
    expect((await claim(wanting(cap))).admitted).toBe(false);
    expect((await text()).length).toBeLessThan(1_000_000);
  });

  describe('while a person overrides the cap', () => {
    const overridden = (until: string) =>
      made(harness(), MAPS, {
        metadata: { name: 'cloudfence' },
        data: { 'cap-lifted-until': until, 'cap-lifted-because': 'the zone is lost' },
      });
    const inMinutes = (minutes: number) => new Date(harness().now() + minutes * 60_000).toISOString();
    it.each([
      ['admits every claim, and enters it', () => inMinutes(30), true],
      ['admits no more claims after the end of the override', () => inMinutes(-1), false],
      ['ignores an override of several days', () => inMinutes(48 * 60), false],
      ['ignores a value that is not a time', () => 'always', false],
    ])('%s', async (_, until, admitted) => {
      const cap = await capOf(1);
      await claim(wanting(cap));
      await overridden(until());
      const says = await claim(wanting(cap));
      await harness().admin('DELETE', `${MAPS}/cloudfence`);
      expect(says.admitted).toBe(admitted);
      expect(await lines()).toHaveLength(admitted ? 2 : 1);
    });
  });

  it('admits nothing if the ledger does not exist, and names the remedy', async () => {
    await harness().admin('DELETE', LEDGER);
    const failing = claim(wanting(await capOf(1)));
    await expect(failing).rejects.toThrow(PermissionDenied);
    await expect(failing).rejects.toThrow('infra/kubernetes/rbac.yaml');
  });

  it('stays small, even if half of five thousand Nodes are fenced within one window', async () => {
    const begun = Math.floor(harness().now() / 1_000) - 60;
    const full = Array.from({ length: 2_449 }, (_, at) => `${`m${at}`.padEnd(10, '-')} boot-1 ${begun} f 5000`);
    await writes(full.join('\n'));
    expect(await claim(wanting({ share: 0.49, atOnce: 0.2 }))).toMatchObject({
      admitted: true,
      begun: 2_449,
      nodes: 5_000,
      limits: { begun: 2_450 },
    });
    expect(JSON.stringify((await harness().admin('GET', LEDGER)).body).length).toBeLessThan(20_000);
    expect((await claim(wanting({ share: 0.49, atOnce: 0.2 }))).admitted).toBe(false);
  });
};
