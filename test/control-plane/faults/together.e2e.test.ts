import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { Crippled } from './crippled.ts';
import { expectRecovered, openCrippled } from './crippled.ts';
import { cloudfence, deliver, stateChanges } from '../doors/doors.ts';
import type { Gates } from './gates.ts';
import type { Rendezvous } from './rendezvous.ts';
import { openRendezvous } from './rendezvous.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

type Door = (way: Gates, crippled: Crippled) => Promise<'ended' | 'to be tried again'>;

const cli: Door = async ({ access }, { home }) => {
  const { code } = await cloudfence(access, 'fence', home.instance);
  return code === 0 ? 'ended' : 'to be tried again';
};

const handler: Door = async ({ access }, { home }) => {
  const { batchItemFailures } = await deliver(access, stateChanges(home.instance, ['stopped'], access.ec2));
  return batchItemFailures.length === 0 ? 'ended' : 'to be tried again';
};

const pairs: readonly { readonly who: string; readonly doors: readonly Door[] }[] = [
  { who: 'two CLIs', doors: [cli, cli] },
  { who: 'the CLI and the function', doors: [cli, handler] },
  { who: 'two functions and the CLI', doors: [handler, handler, cli] },
];

/** Starts them at the same time. Each has its own connection, and they meet at every kind of change. */
const letLoose = async (doors: readonly Door[], crippled: Crippled): Promise<Rendezvous> => {
  const rendezvous = openRendezvous(doors.length);
  const ways = await Promise.all(doors.map(() => crippled.openWay()));
  for (const way of ways) way.handle(rendezvous.join());
  const ends = await Promise.all(doors.map(async (door, at) => door(ways[at] ?? crippled.gates, crippled)));
  expect(ends).toContain('ended');
  return rendezvous;
};

describe.concurrent('several runs about the same machine at the same time', () => {
  it.for(pairs)('$who end as one run would', async ({ doors }) => {
    const crippled = await openCrippled(testbed, 'together');
    const { met } = await letLoose(doors, crippled);
    expect(met).toContain('mark');
    await expectRecovered(crippled);
    await crippled.close();
  });
});
