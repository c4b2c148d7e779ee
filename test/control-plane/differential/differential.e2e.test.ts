import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bench } from '../bench/bench.ts';
import { openBench } from '../bench/bench.ts';
import { played } from './differential.ts';
import { incidents, waitingIncidents } from './incidents.ts';
import { openRealStage } from './real.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench?.close());

/** The same courses by the same hands, in the same order and time, to the same end. */
describe('the sandbox does what a real control plane does', () => {
  it.for(Object.entries(incidents))('%s', async ([, incident]) => {
    expect(await played(incident, () => openRealStage(bench))).toEqual([]);
  });
});

describe.concurrent('the sandbox waits for what a real control plane waits for', () => {
  it.for(Object.entries(waitingIncidents))('%s', async ([, incident], { expect }) => {
    expect(await played(incident, () => openRealStage(bench))).toEqual([]);
  });
});
