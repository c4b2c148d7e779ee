import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** The formatter breaks code at 120 characters, but neither texts nor comments. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const rooms = [
  'app',
  'cli',
  'config',
  'demo',
  'diagnosis',
  'drill',
  'fencing',
  'functions',
  'incidents',
  'infra',
  'kubernetes',
  'providers',
  'report',
  'sandbox',
  'scripts',
  'transport',
];
const LONGEST = 120;

/** Lines that cannot be broken: regular expressions, and lines of another program. */
const unbreakable = new Set([
  'cli/help.ts: ${commands.map((one) => `    ${one.name}',
  'infra/serverless/slim-libraries.ts: module.exports = { ...fallback, fallback',
  "infra/serverless/slim-libraries.ts: const absent = () => { throw new Error('",
  'diagnosis/rules/mount-texts.ts: /is not ready for workloads|already atta',
  'diagnosis/rules/mount-texts.ts: /has volumeMode Block, but is specified ',
  'infra/serverless/slim-zod.ts: /z\\s*\\.string\\(\\)(?:\\s*\\.\\w+\\([^()]*\\))*',
]);
const SHOWN = 40;

/** Returns whether a line belongs to the style sheet of the report. */
const isStyle = (line: string): boolean => /^(?:\.[\w.]+( b)?\{|const (?:light|dark) = `--)/.test(line);

const longLinesIn = (room: string): readonly string[] =>
  readdirSync(path.join(root, room), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .flatMap((file) =>
      readFileSync(path.join(root, file), 'utf8')
        .split('\n')
        .filter((line) => line.length > LONGEST && !line.includes('https://') && !isStyle(line))
        .map((line) => `${file}: ${line.trim().slice(0, SHOWN)}`),
    );

it.each(rooms)('no line of %s is longer than 120 characters', (room) => {
  expect(longLinesIn(room).filter((line) => !unbreakable.has(line))).toEqual([]);
});
