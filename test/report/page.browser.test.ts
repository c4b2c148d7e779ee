import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportPage } from '../../report/page.ts';
import type { Report } from '../../report/select.ts';
import { openPage, startBrowser } from './browser.ts';
import { fenced, HOSTILE, imagined, refused, released, reportOf, tainted, withPhases } from './samples.ts';

/** The report in a real browser: it fits every screen, and everybody can read it. */

const everyPhase = withPhases(released, 'every-phase', {
  event: 14,
  received: 31,
  proven: 31.2,
  marked: 31.4,
  podsDeleted: 31.9,
  attachmentsGone: 140,
  disksFreed: 139,
  attachedElsewhere: 180,
  fenced: 141,
  lifted: 4_000,
  released: 4_100,
});
const hours = withPhases(fenced, 'hours', {
  event: 100,
  received: 9_000,
  proven: 9_001,
  marked: 9_002,
  fenced: 99_000,
});
const shadow = { target: null, since: null, shadow: true };
const damaged = [{ name: `incidents/${'x'.repeat(300)}.json`, what: 'it is empty', remedy: 'copy the object again' }];

const reports: Readonly<Record<string, Report>> = {
  one: reportOf([released]),
  all: reportOf([released, refused, imagined, everyPhase, hours], { damaged }),
  shadow: reportOf([imagined, { ...refused, id: 'r', shadow: true }], { wanted: shadow }),
  none: reportOf([]),
  hostile: reportOf(HOSTILE.map(({ called, text }) => ({ ...tainted(released, text), id: called }))),
};
const names = Object.keys(reports);
const themes = ['light', 'dark'] as const;
const everyWay = names.flatMap((name) => themes.map((theme) => ({ name, theme })));

let browser: Browser;
let folder: string;
const fileOf = (name: string): string => path.join(folder, `${name}.html`);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-pages-'));
  for (const [name, report] of Object.entries(reports)) await writeFile(fileOf(name), reportPage(report));
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

const opened = async <T>(name: string, theme: 'light' | 'dark', use: (page: Page) => Promise<T>): Promise<T> => {
  const { page, trouble } = await openPage(browser, fileOf(name), theme);
  try {
    return await use(page);
  } finally {
    await page.context().close();
    expect(trouble).toEqual([]);
  }
};

/** Calls a function of in-page.js. */
const asked = (page: Page, call: string): Promise<unknown> => page.evaluate(`inPage.${call}`);

const at = (page: Page, width: number): Promise<void> => page.setViewportSize({ width, height: 900 });

describe('the page on a screen', () => {
  it.each(everyWay)('fits every width without errors: $name, $theme', ({ name, theme }) =>
    opened(name, theme, async (page) => {
      for (const width of [360, 768, 1280, 1600]) {
        await at(page, width);
        expect({ width, out: await asked(page, 'stickingOut()') }).toEqual({ width, out: [] });
      }
    }),
  );

  it.each([
    ['one', 'light', 1280],
    ['all', 'dark', 360],
    ['all', 'light', 1280],
    ['shadow', 'light', 1280],
    ['none', 'dark', 360],
  ] as const)('has no accessibility problem that axe finds: %s, %s, %i px', (name, theme, width) =>
    opened(name, theme, async (page) => {
      await at(page, width);
      await page.evaluate(axe.source);
      expect(await asked(page, 'barriers()')).toEqual([]);
    }),
  );
});

describe('the timeline', () => {
  it.each([
    [360, 'narrow'],
    [740, 'narrow'],
    [768, 'wide'],
    [1280, 'wide'],
  ])('can be read at %i px: no word is small, cut off, or on top of another word or a bar', (width, kind) =>
    opened('all', 'light', async (page) => {
      await at(page, width);
      expect(await asked(page, `chartTrouble('${kind}')`)).toEqual([]);
    }),
  );

  it.each(themes)('has contrast: words 4.5, bars 3, in %s', (theme) =>
    opened('all', theme, async (page) => expect(await asked(page, 'weakContrast()')).toEqual([])),
  );
});

describe('the keyboard', () => {
  it('reaches each link and each part, and shows the focus', () =>
    opened('all', 'light', async (page) => {
      const wanted = Number(await asked(page, 'toFocus()'));
      const seen: unknown[] = [];
      for (let press = 0; press < wanted; press += 1) {
        await page.keyboard.press('Tab');
        seen.push(await asked(page, 'focused()'));
      }
      expect(wanted).toBeGreaterThan(40);
      expect(new Set(seen)).toEqual(new Set(['A', 'SUMMARY']));
    }));

  it('opens a part, and a link to evidence opens the part that contains it', () =>
    opened('all', 'light', async (page) => {
      const part = page.locator('details').first();
      await part.locator('summary').focus();
      await page.keyboard.press('Enter');
      expect(await part.getAttribute('open')).not.toBeNull();
      await page.locator('#incident-1 a[href="#i1-proof-1"]').first().focus();
      await page.keyboard.press('Enter');
      await page.locator('#i1-proof-1').waitFor({ state: 'visible', timeout: 2_000 });
    }));
});

describe('on paper', () => {
  it('the page is light, shows all evidence, and fits', () =>
    opened('all', 'dark', async (page) => {
      await at(page, 690);
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      expect(await asked(page, 'ground()')).toBe('rgb(255, 255, 255)');
      expect(await page.locator('#i1-proof-1').isVisible()).toBe(true);
      expect(await asked(page, 'stickingOut()')).toEqual([]);
      expect(await asked(page, "chartTrouble('wide')")).toEqual([]);
      expect((await page.pdf({ format: 'A4', printBackground: true })).length).toBeGreaterThan(20_000);
    }));
});
