import { expect, it } from 'vitest';
import { fuzz, sharesOf } from './fuzz.ts';
import { readers } from './readers.ts';

/** A part of `npm run fuzz`, which uses other seeds. */

const INPUTS = 10_000;
const seed = 20_261_123;

it.each([...sharesOf(readers, INPUTS)].map(([reader, inputs]) => [reader.name, reader, inputs] as const))(
  `the reader of a malformed %s neither acts, nor throws a raw error, nor waits, nor prints a secret (seed ${seed})`,
  async (_, reader, inputs) => {
    expect((await fuzz(reader, { inputs, seed, worstAre: 'small' })).findings).toEqual([]);
  },
);
