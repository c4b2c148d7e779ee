import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { addDatabase } from '../scenes/database.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { until } from '../../testbed/until.ts';

/** Controllers act on a cached taint for a while. */
const SETTLES_MS = 30_000;
const OURS = /cloudfence|out-of-service/;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** A database that has moved away from a stopped instance; its Node is fenced. */
const fenced = async () => {
  const database = await addDatabase(testbed);
  const bootID = (await database.readNode(database.home)).status.nodeInfo.bootID;
  await database.home.stop();
  const fence = await cloudfence(testbed.access, 'fence', database.home.instance);
  expect(fence).toMatchObject({ code: 0, says: { outcome: 'fenced' } });
  const parkedAt = Date.parse(z.string().parse(fence.says.steps.find(({ step }) => step === 'park')?.['at']));
  await database.runsOn(database.refuge);
  const ready = () =>
    until(`${database.home.name} is Ready`, async () => {
      const { conditions } = (await database.readNode(database.home)).status;
      return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    });
  const ours = async (): Promise<readonly string[]> => {
    const { spec, metadata } = await database.readNode(database.home);
    return [
      ...spec.taints.map(({ key }) => key),
      ...Object.keys(metadata.labels),
      ...Object.keys(metadata.annotations),
    ].filter((key) => OURS.test(key));
  };
  return { database, bootID, parkedAt, ready, ours };
};

describe.concurrent('a fenced Node', () => {
  it('is released after a fresh boot, with nothing of ours left and nothing moved', async () => {
    const { database, parkedAt, ready, ours } = await fenced();
    const moved = database.pod()?.metadata.uid;
    await database.home.start();
    await ready();
    const { code, says } = await cloudfence(testbed.access, 'release', database.home.name, '--timeout', '90s');
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'released' });
    expect(says.steps.map(({ step }) => step)).toEqual(['release-node']);
    expect(Date.parse(z.string().parse(says.steps[0]?.['at'])) - parkedAt).toBeGreaterThanOrEqual(SETTLES_MS);
    expect(await ours()).toEqual([]);
    expect(database.pod()?.metadata.uid).toBe(moved);
    expect(await testbed.ec2.holderOf(database.disk)).toBe(database.refuge.instance);
  });

  it('is not released when it is Ready under its old boot', async () => {
    const { database, bootID, ready, ours } = await fenced();
    const before = await ours();
    await database.home.start(bootID);
    await ready();
    const { code, says } = await cloudfence(testbed.access, 'release', database.home.name, '--timeout', '15s');
    expect({ code, outcome: says.outcome }).toEqual({ code: 3, outcome: 'waiting' });
    expect(says.reason).toMatch(/^return-unproven/);
    expect(await ours()).toEqual(before);
    expect(before).toContain('cloudfence.dev/quarantine');
    expect(before).not.toContain('node.kubernetes.io/out-of-service');
  });
});
