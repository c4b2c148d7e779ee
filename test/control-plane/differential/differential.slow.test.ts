import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Bench } from '../../testbed/bench.ts';
import { openBench } from '../../testbed/bench.ts';
import { played } from './differential.ts';
import { slowIncidents } from './incidents.ts';
import { openRealStage } from './real.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench?.close());

/** Tried once more when it fails, as all that is timed on a machine that may be busy. */
describe.concurrent('the sandbox does what a real control plane does, in the time that Kubernetes itself takes', () => {
  it.for(Object.entries(slowIncidents))('%s', { retry: 1 }, async ([, incident], { expect }) => {
    expect(await played(incident, () => openRealStage(bench))).toEqual([]);
  });
});
