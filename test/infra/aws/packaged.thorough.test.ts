import { afterAll, beforeAll } from 'vitest';
import { makeAll, type Made } from './made.ts';
import { describeSafeguards } from './safeguards.ts';
import { describeTemplate } from './template.ts';
import { describeZips } from './zips.ts';

/** All checks of the package for AWS, which takes longer to build than to read. */

let all: Made;
beforeAll(async () => {
  all = await makeAll();
}, 180_000);
afterAll(() => all.service.close());

const made = (): Made => all;
describeTemplate(made);
describeSafeguards(made);
describeZips(made);
