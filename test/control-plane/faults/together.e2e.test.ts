import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { Crippled } from './crippled.ts';
import { expectRecovered, openCrippled } from './crippled.ts';
import { cloudfence, deliver, stateChanges } from '../entry-points/programs.ts';
import type { Gates } from './gates.ts';
import type { Rendezvous } from './rendezvous.ts';
import { openRendezvous } from './rendezvous.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

type EntryPoint = (way: Gates, crippled: Crippled) => Promise<'ended' | 'to be tried again'>;

const cli: EntryPoint = async ({ access }, { home }) => {
  const { code } = await cloudfence(access, 'fence', home.instance);
  return code === 0 ? 'ended' : 'to be tried again';
};

const handler: EntryPoint = async ({ access }, { home }) => {
  const { batchItemFailures } = await deliver(access, stateChanges(home.instance, ['stopped'], access.ec2));
  return batchItemFailures.length === 0 ? 'ended' : 'to be tried again';
};

const pairs: readonly { readonly who: string; readonly entryPoints: readonly EntryPoint[] }[] = [
  { who: 'two CLIs', entryPoints: [cli, cli] },
  { who: 'the CLI and the function', entryPoints: [cli, handler] },
  { who: 'two functions and the CLI', entryPoints: [handler, handler, cli] },
];

/** Starts them at the same time. Each has its own connection, and they meet at every kind of change. */
const letLoose = async (entryPoints: readonly EntryPoint[], crippled: Crippled): Promise<Rendezvous> => {
  const rendezvous = openRendezvous(entryPoints.length);
  const ways = await Promise.all(entryPoints.map(() => crippled.openWay()));
  for (const way of ways) way.handle(rendezvous.join());
  const ends = await Promise.all(entryPoints.map(async (enter, at) => enter(ways[at] ?? crippled.gates, crippled)));
  expect(ends).toContain('ended');
  return rendezvous;
};

describe.concurrent('several runs about the same machine at the same time', () => {
  it.for(pairs)('$who end as one run would', async ({ entryPoints }) => {
    const crippled = await openCrippled(testbed, 'together');
    const { met } = await letLoose(entryPoints, crippled);
    expect(met).toContain('mark');
    await expectRecovered(crippled);
    await crippled.close();
  });
});
