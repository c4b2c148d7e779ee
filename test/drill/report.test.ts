import { expect, it } from 'vitest';
import { type DrillReport, drillLines, drillMarkdown } from '../../drill/report.ts';

/** A text of others, such as the message of a container that waits, stays on its line. */

const hostile = 'the canary does not run: \u001B[31mred\n# Drill: recovered\r\n- forged\u2028';

const report: DrillReport = {
  end: 'failed',
  says: hostile,
  refusals: [{ says: hostile, remedy: hostile }],
  facts: null,
  stoppedAt: null,
  recovery: [],
  restart: [],
  movedTo: null,
  left: [{ says: hostile, remedy: hostile }],
  node: 'node-1',
  cluster: 'bench',
  machine: 'i-1',
  threshold: null,
  proofs: { fencedHere: false },
};

it.each([
  { form: 'Markdown', textOf: drillMarkdown },
  { form: 'a terminal', textOf: (refused: DrillReport) => drillLines(refused).join('\n') },
])('a refused drill gives each reason once, with its remedy ($form)', ({ textOf }) => {
  const [one, other] = ['the machine does not run', 'the Node is not labelled'];
  const refusals = [
    { says: one, remedy: 'start it first' },
    { says: other, remedy: 'label it' },
  ];
  const text = textOf({ ...report, end: 'refused', says: `${one}, ${other}`, refusals, left: [] });
  expect(text.split(one)).toHaveLength(2);
  expect(text.split(other)).toHaveLength(2);
  expect(text).toContain(`${one}: start it first`);
  expect(text).toContain('nothing was stopped');
});

it.each([
  { form: 'Markdown', text: drillMarkdown(report) },
  { form: 'a terminal', text: drillLines(report).join('\n') },
])('a report for $form contains no line break and no control character from others', ({ text }) => {
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Zl}]/u);
  expect(text).not.toMatch(/^(?:# Drill: recovered|- forged)/m);
  expect(text).toContain('red');
});
