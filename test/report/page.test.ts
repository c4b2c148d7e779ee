import { describe, expect, it } from 'vitest';
import type { Incident } from '../../incidents/incident.ts';
import { reportJson } from '../../report/json.ts';
import { reportMarkdown } from '../../report/markdown.ts';
import { reportPage } from '../../report/page.ts';
import { fenced, HOSTILE, imagined, refused, released, reportOf, tainted, withPhases } from './samples.ts';

/** The text that people read, without the markup. */
const wordsOf = (page: string): string =>
  page
    .replaceAll(/<(style|title)>[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<\/?(?:bdi|b|code)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&gt;', '>')
    .replaceAll(/\s+/g, ' ');

/** Every element and attribute of a page, without their values. */
const skeletonOf = (page: string): string =>
  [...page.matchAll(/<[^>]*>/g)].map(([tag]) => tag.replaceAll(/"[^"]*"/g, '""')).join('');

describe('the page of one incident', () => {
  const page = reportPage(reportOf([released]));
  const words = wordsOf(page);

  it('says in sentences what happened', () => {
    expect(words).toContain('The machine went off at 2026-01-01 00:00:10.000 UTC.');
    expect(words).toContain('Cloudfence looked at it 25.5 s later, because an event arrived.');
    expect(words).toContain('was free 3.85 s after that');
  });

  it('has each phase with its time, or says why it is not known', () => {
    expect(words).toContain('Pods deleted 00:00:35.812 step 2 25.8 s 0.02 s');
    expect(words).toContain('Attached elsewhere not observed: no run and no sweep saw it so far');
    expect(words).toContain('Taint lifted did not happen: the machine did not come back while the taint was set');
    expect(words).toContain('New pod running not observed: no run and no sweep saw it so far');
  });

  it('links each phase and each step to its evidence', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, to]) => to);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((to) => !ids.includes(to))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(words).toContain('00000000-0000-4000-b000-000000000008');
  });

  it('shows what Kubernetes does without Cloudfence, and where the numbers come from', () => {
    expect(words).toContain('Kubernetes alone > 10 min 20 s not seen');
    expect(words).toContain('docs/recovery.md');
  });

  it('loads nothing and runs nothing', () => {
    expect(page).toContain('default-src &#39;none&#39;'.replaceAll('&#39;', "'"));
    expect(page).not.toMatch(/<script|<link rel="stylesheet|\shref="(?!#|data:,)|\ssrc=|@import|url\((?!#)/);
  });
});

describe('the page of an incident whose event is older than the power-off', () => {
  const early = withPhases(released, 'early', {
    event: -25,
    received: 3,
    proven: 3.1,
    marked: 3.2,
    podsDeleted: 3.3,
    attachmentsGone: 9,
    disksFreed: 9,
    fenced: 9.1,
  });

  it('counts the wait for the first look from the power-off', () => {
    expect(wordsOf(reportPage(reportOf([early])))).toMatch(/Cloudfence looks \S+ 28\.0 s 3\.00 s/);
    expect(reportMarkdown(reportOf([early]))).toMatch(/\| Cloudfence looks \| \S+ \| 28\.0 s \| 3\.00 s \|/);
  });

  it('draws the event at its own time', () => {
    const rows = reportPage(reportOf([early])).split('<text class="label"');
    const xOf = (label: string): number =>
      Number(/class="unnoticed"\s+x="([^"]+)"/.exec(rows.find((row) => row.includes(`>${label}<`)) ?? '')?.[1]);
    expect(xOf('Event')).toBeLessThan(xOf('Machine off'));
    expect(xOf('Machine off')).toBe(xOf('Cloudfence looks'));
  });
});

describe('the page of a machine that runs', () => {
  const runs: Incident = {
    ...refused,
    phases: { ...refused.phases, off: null, proven: null },
    proofs: released.proofs.slice(-1),
  };

  it('says that it runs, and offers no remedy that would let two machines write', () => {
    const words = wordsOf(reportPage(reportOf([runs])));
    expect(words).toContain('Machine off did not happen: the cloud says that the machine runs');
    expect(words).not.toContain('Kubernetes alone');
    expect(words).not.toContain('without Cloudfence');
    expect(reportMarkdown(reportOf([runs]))).not.toContain('Without Cloudfence');
  });
});

describe('the page of several incidents', () => {
  it('has a list, and how long each phase took where that is known', () => {
    const some = [3, 4, 50].map((s, index) => withPhases(fenced, `f-${index}`, { received: 1, fenced: 1 + s }));
    const words = wordsOf(reportPage(reportOf([...some, refused, imagined])));
    expect(words).toContain('Cloudfence looks → Fence done known in 3 of 3 4.00 s 50.0 s 50.0 s 50.0 s');
    expect(words).toContain('5 incidents');
  });

  it('names what cannot be read, and how to correct it', () => {
    const damaged = [{ name: 'incidents/a.json', what: 'it is empty', remedy: 'copy the object again' }];
    const report = reportOf([refused], { damaged });
    for (const text of [wordsOf(reportPage(report)), reportMarkdown(report)])
      expect(text).toContain('incidents/a.json: it is empty. To mend it, copy the object again.');
  });

  it('says so if nothing happened', () => {
    for (const shadow of [false, true]) {
      const report = reportOf([], { wanted: { target: null, since: null, shadow } });
      for (const text of [wordsOf(reportPage(report)), reportMarkdown(report)]) {
        expect(text).toContain('Nothing was fenced, refused, or seen in shadow mode');
        expect(text).not.toContain('was not observed');
      }
    }
  });
});

describe('what tenants write', () => {
  const plainPage = reportPage(reportOf([tainted(released, 'name')]));

  it.each(HOSTILE)('$called is only text', ({ text }) => {
    const page = reportPage(reportOf([tainted(released, text)]));
    expect(skeletonOf(page)).toBe(skeletonOf(plainPage));
    expect(page).not.toMatch(/(?!\n)\p{Cc}|\p{Cs}|[\u202a-\u202e]/u);
  });

  it.each(HOSTILE)('$called is only text in Markdown', ({ text }) => {
    const lines = reportMarkdown(reportOf([tainted(released, text)])).split('\n');
    const before = reportMarkdown(reportOf([tainted(released, 'name')])).split('\n');
    expect(lines).toHaveLength(before.length);
    expect(lines.map((line) => line.match(/(?<!\\)\|/g)?.length ?? 0)).toEqual(
      before.map((line) => line.match(/(?<!\\)\|/g)?.length ?? 0),
    );
    expect(lines.join('\n')).not.toMatch(/(?<!\\)<(?!br>)/);
  });

  it.each(HOSTILE)('$called stays as it is in JSON', ({ text }) => {
    expect(reportJson(reportOf([tainted(released, text)]))).toContain(JSON.stringify(text));
  });
});
