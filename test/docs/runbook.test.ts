import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** The runbook explains every code that a reason may have, and every alarm, and no other. */

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

const declared = [...read('fencing/model/reason.ts').matchAll(/\| '([a-z-]+)'/g)].map(([, code = '']) => code);

const tables = read('docs/runbook.md').split('\n## The codes\n')[1] ?? '';
const explained = [...tables.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code),
);

it('finds codes', () => expect(declared.length).toBeGreaterThan(50));
it('explains every code', () => expect(declared.filter((code) => !explained.includes(code))).toEqual([]));
it('explains no code that does not exist', () =>
  expect(explained.filter((code) => !declared.includes(code))).toEqual([]));

const namesIn = (file: string, pattern: RegExp): readonly string[] =>
  [...read(file).matchAll(pattern)].map(([, name = '']) => name);

const alarms = [
  ...namesIn('infra/aws/alarms.yml', /AlarmName: .*stage}-([a-z-]+)/g),
  ...namesIn('infra/azure/monitoring.ts', /\bname: '([a-z-]+)'/g),
  ...namesIn('infra/gcp/monitoring.ts', /^ +(?:name: )?'([a-z-]+)',$/gm),
];

const [, sectionOfAlarms = ''] = /\n## An alarm fires\n(.*?)\n## /s.exec(read('docs/runbook.md')) ?? [];
const answered = [...sectionOfAlarms.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
);

it('finds alarms', () => expect(alarms.length).toBeGreaterThan(30));
it('says what to do about every alarm of each cloud', () =>
  expect(alarms.filter((name) => !answered.includes(name))).toEqual([]));
it('names no alarm that does not exist', () => expect(answered.filter((name) => !alarms.includes(name))).toEqual([]));
