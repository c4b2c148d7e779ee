import { expect, it } from 'vitest';
import { sourceFilesIn } from './source-files.ts';

/**
 * Zod's own checks of a length throw for an odd object in place of a text or a list. fencing/model/foreign-text.ts has
 * checks for foreign data.
 */

const rooms = [
  'app',
  'cli',
  'config',
  'drill',
  'fencing',
  'functions',
  'incidents',
  'infra',
  'kubernetes',
  'providers',
];
const OF_ZOD = /z\s*\.(?:string|array|base64)\([^;]*?\)\s*\.(?:min|max|length|nonempty)\(/;

/** Returns the schemas of numbers as nothing, because their `min` and `max` run only for numbers. */
const withoutNumbers = (text: string): string =>
  text.replaceAll(/z\s*\.(?:coerce\.)?(?:number|int)\(\)(?:\s*\.\w+\([^()]*\))*/g, '');

it.each([...rooms, 'report', 'stages', 'transport'])('%s checks the length of a text with minLength', (room) => {
  const wrong = sourceFilesIn(room).flatMap(({ file, text }) => {
    const [found] = OF_ZOD.exec(withoutNumbers(text)) ?? [];
    return found === undefined ? [] : [`${file}: ${found}`];
  });
  expect(wrong).toEqual([]);
});
