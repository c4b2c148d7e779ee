import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/**
 * Zod's own checks of a length throw for an odd object in place of a text or a list. fencing/model/foreign-text.ts has
 * checks for foreign data.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
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
  const wrong = readdirSync(path.join(root, room), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .flatMap((file) => {
      const [found] = OF_ZOD.exec(withoutNumbers(readFileSync(file, 'utf8'))) ?? [];
      return found === undefined ? [] : [`${path.relative(root, file)}: ${found}`];
    });
  expect(wrong).toEqual([]);
});
