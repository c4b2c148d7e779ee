import { expect, it } from 'vitest';
import { sourceFilesIn } from './source-files.ts';

/**
 * The formatter breaks code at 120 characters, but neither texts nor comments. Tests also contain texts of others, such
 * as the message of a driver, and golden answers. Such a text may be longer if it fills its line.
 */

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
  'test',
  'transport',
];
const LONGEST = 120;

/** Lines that cannot be broken: regular expressions, and lines of another program. */
const unbreakable = new Set([
  'infra/serverless/slim-libraries.ts: module.exports = { ...fallback, fallback',
  "infra/serverless/slim-libraries.ts: const absent = () => { throw new Error('",
  'diagnosis/rules/mount-texts.ts: /is not ready for workloads|already atta',
  'diagnosis/rules/mount-texts.ts: /has volumeMode Block, but is specified ',
  'infra/serverless/slim-zod.ts: /z\\s*\\.string\\(\\)(?:\\s*\\.\\w+\\([^()]*\\))*',
]);
const SHOWN = 40;

/** Returns whether a line belongs to the style sheet of the report. */
const isStyle = (line: string): boolean => /^(?:\.[\w.]+( b)?\{|const (?:light|dark) = `--)/.test(line);

/** Matches a line that a text, a template, or a regular expression fills, with or without a name for it. */
const ONLY_TEXT = /^\s*(?:(?:const )?\w+(?:: | = ))?(['"`/]).*\1[a-z]*[,;)\]]*$/;

/** Returns the lines of a file, without those that only continue a template. */
const linesOutsideTemplates = (lines: readonly string[]): readonly string[] => {
  let isInside = false;
  return lines.filter((line) => {
    const continues = isInside;
    if (line.replaceAll('\\`', '').split('`').length % 2 === 0) isInside = !isInside;
    return !continues;
  });
};

/** Returns the lines of a test that have to be short. */
const withoutData = (lines: readonly string[]): readonly string[] =>
  linesOutsideTemplates(lines).filter((line) => !ONLY_TEXT.test(line));

const longLinesIn = (room: string): readonly string[] =>
  sourceFilesIn(room)
    .map(({ file, text }) => ({ file, lines: text.split('\n') }))
    .flatMap(({ file, lines }) =>
      (room === 'test' ? withoutData(lines) : lines)
        .filter((line) => line.length > LONGEST && !line.includes('https://') && !isStyle(line))
        .map((line) => `${file}: ${line.trim().slice(0, SHOWN)}`),
    );

it.each(rooms)('no line of %s is longer than 120 characters', (room) => {
  expect(longLinesIn(room).filter((line) => !unbreakable.has(line))).toEqual([]);
});
