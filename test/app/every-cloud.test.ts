import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readEventOfAnyCloud } from '../../app/any-cloud.ts';
import { registeredClouds } from '../../app/clouds.ts';
import { sample, samplesOf } from '../functions/samples.ts';

/**
 * What holds for each cloud in the list of app/clouds.ts, and between them. The line of a new cloud in that list
 * makes these tests include it.
 */

const clouds = await registeredClouds();

it('no two clouds have the same name', () => {
  expect(new Set(clouds.map(({ name }) => name)).size).toBe(clouds.length);
});

describe.each(clouds)('$name', ({ name, readHints, ownsId, machineOf }) => {
  it.each(samplesOf(name))('reads its sample, and no other cloud finds a machine in it: %s', (file) => {
    const text = sample(name, file);
    const { hints } = readHints(text);
    expect(readEventOfAnyCloud(text, clouds).hints).toEqual(hints);
    for (const other of clouds.filter((one) => one.name !== name)) expect(other.readHints(text).hints).toEqual([]);
    for (const { machine } of hints)
      expect(clouds.filter((one) => one.ownsId(machine)).map((one) => one.name)).toEqual([name]);
  });

  it('finds a machine in one of its samples', () => {
    expect(samplesOf(name).flatMap((file) => readHints(sample(name, file)).hints)).not.toEqual([]);
  });

  /** An event may also name something that is not a machine, such as a scale set. */
  it('reads the bare id of a machine as a providerID, because a person may type it', () => {
    const ids = samplesOf(name).flatMap((file) => readHints(sample(name, file)).hints.map(({ machine }) => machine));
    const read = ids.map((value) => machineOf({ source: 'providerID', driver: null, value }));
    expect(read.filter((machine) => machine !== null)).not.toEqual([]);
    for (const [index, machine] of read.entries()) expect([ids[index], null]).toContain(machine);
  });

  it('is tested with malformed answers, and its functions run the contract, if it has functions', () => {
    const needed = [
      `test/providers/${name}/malformed.test.ts`,
      ...(existsSync(`functions/${name}`) ? [`test/contract/functions/${name}.test.ts`] : []),
    ];
    expect(needed.filter((file) => !existsSync(file))).toEqual([]);
  });

  it.each(['', 'node-1', 'toString'])('does not claim an id that is not its own: %j', (id) =>
    expect(ownsId(id)).toBe(false),
  );
});
