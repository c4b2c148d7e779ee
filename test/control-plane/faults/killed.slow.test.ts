import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { expectRecovered, openCrippled } from './crippled.ts';
import { beginCloudfence, cloudfence } from '../entry-points/programs.ts';
import { moments } from './moments.ts';
import { strikeAt } from './strike.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

describe.concurrent('a fence whose process is killed', () => {
  it.for(moments)('$when $words, and started again, ends as if nothing had happened', async ({ when, ...point }) => {
    const crippled = await openCrippled(testbed, 'killed-once');
    const { gates, home } = crippled;
    const first = beginCloudfence(gates.access, 'fence', home.instance);
    gates.handle(strikeAt(point, when, () => first.kill('SIGKILL')));
    expect(await first.ended).toMatchObject({ stdout: '' });
    const { says } = await cloudfence(gates.access, 'fence', home.instance);
    expect(says.outcome).toBe('fenced');
    await expectRecovered(crippled);
    await crippled.close();
  });
});
