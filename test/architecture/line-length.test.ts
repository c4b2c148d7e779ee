import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** The formatter breaks code at 120 characters, but neither texts nor comments. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const rooms = ['cli', 'config', 'functions', 'infra', 'kubernetes', 'providers', 'scripts', 'transport'];
const LONGEST = 120;

/** Lines that cannot be broken: regular expressions, and lines of another program. */
const unbreakable = new Set([
  'cli/help.ts: ${commands.map((one) => `    ${one.name}',
  'infra/serverless/slim-libraries.ts: module.exports = { ...fallback, fallback',
  "infra/serverless/slim-libraries.ts: const absent = () => { throw new Error('",
  'infra/serverless/slim-zod.ts: /z\\s*\\.string\\(\\)(?:\\s*\\.\\w+\\([^()]*\\))*',
]);
const SHOWN = 40;

const longLinesIn = (room: string): readonly string[] =>
  readdirSync(path.join(root, room), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .flatMap((file) =>
      readFileSync(path.join(root, file), 'utf8')
        .split('\n')
        .filter((line) => line.length > LONGEST && !line.includes('https://'))
        .map((line) => `${file}: ${line.trim().slice(0, SHOWN)}`),
    );

it.each(rooms)('no line of %s is longer than 120 characters', (room) => {
  expect(longLinesIn(room).filter((line) => !unbreakable.has(line))).toEqual([]);
});
