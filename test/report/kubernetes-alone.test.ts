import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { kubernetesAlone } from '../../report/figures.ts';

const page = readFileSync(new URL(`../../${kubernetesAlone.source}`, import.meta.url), 'utf8');

/** A cell such as `55.98`, `2.89 (2.29–3.57)`, or `–`. */
const secondsIn = (cell = ''): number | null => (cell.trim() === '–' ? null : Number.parseFloat(cell));

const rowOf = (row: string) => {
  const line = page.split('\n').find((text) => text.startsWith(`| ${row} |`)) ?? '';
  const [, , , oldPodGone, , cloudDetached, attachedElsewhere, , running] = line.split('|');
  return {
    oldPodGone: secondsIn(oldPodGone),
    cloudDetached: secondsIn(cloudDetached),
    attachedElsewhere: secondsIn(attachedElsewhere),
    running: secondsIn(running),
  };
};

it.each(kubernetesAlone.remedies)(
  'the numbers of "$row" are those that were measured',
  ({ row, label, ...figures }) => {
    expect(label).not.toBe('');
    expect(page).toContain(`| ${row} |`);
    expect(figures).toEqual(rowOf(row));
  },
);

it('no remedy of the page is left out, except those with a proof or for comparison', () => {
  const [, table = ''] = /\n## The same crash under each remedy\n([\s\S]+?)\n## /.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| ([^|]+?) \| +\d/gm)].map(([, row = '']) => row);
  const others = rows.filter((row) => !row.startsWith('Cloudfence') && !row.startsWith('the floor'));
  expect(kubernetesAlone.remedies.map(({ row }) => row)).toEqual(others);
});

it('the text names when and on what the numbers were measured', () => {
  expect(page).toContain(`on ${kubernetesAlone.measured}.`);
  expect(page).toContain(`Kubernetes ${kubernetesAlone.kubernetes},`);
  expect(page).toContain(`within ${kubernetesAlone.watched} s.`);
});

it('the number for a fence is the one that was measured', () => {
  const { row, running } = kubernetesAlone.cloudfence;
  expect(rowOf(row).running).toBe(running);
});
