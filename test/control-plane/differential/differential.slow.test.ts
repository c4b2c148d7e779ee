import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { played } from './differential.ts';
import { slowIncidents } from './incidents.ts';
import { openRealStage } from './real.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** Is repeated once after a failure, like everything that is timed on a computer that may be busy. */
describe.concurrent('the sandbox does what a real control plane does, at Kubernetes’ own pace', () => {
  it.for(Object.entries(slowIncidents))('%s', { retry: 1 }, async ([, incident], { expect }) => {
    expect(await played(incident, () => openRealStage(testbed))).toEqual([]);
  });
});
