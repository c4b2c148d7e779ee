import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';

/**
 * A real browser for the tests of pages: the Chromium that .ci/install-chromium installs, or that CLOUDFENCE_CHROMIUM
 * names.
 */

const installer = fileURLToPath(new URL('../../.ci/install-chromium', import.meta.url));

/** Functions that run in the page. `page.evaluate` calls them by name. */
const inPage = fileURLToPath(new URL('in-page.js', import.meta.url));

/** No connections: the machine may have no network, and the tests need none. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The installed one includes the libraries and the font that a bare machine lacks. */
const bareMachine = (folder: string): Record<string, string> =>
  existsSync(path.join(folder, 'fonts.conf'))
    ? { LD_LIBRARY_PATH: path.join(folder, 'lib'), FONTCONFIG_FILE: path.join(folder, 'fonts.conf') }
    : {};

export const startBrowser = async (): Promise<Browser> => {
  const program = (await promisify(execFile)(installer)).stdout.trim();
  if (!existsSync(program)) throw new Error(`there is no browser at ${program}: these tests need Chromium or Chrome`);
  const env = { HOME: process.env['HOME'] ?? '/tmp', ...bareMachine(path.dirname(program)) };
  return chromium.launch({ executablePath: program, args: QUIET, env });
};

export interface OpenedPage {
  readonly page: Page;
  /** What went wrong in the page: messages of the console, errors, dialogs, and requests. */
  readonly trouble: readonly string[];
}

/** Opens a page as a file, in light or dark mode. */
export const openPage = async (
  browser: Browser,
  file: string,
  colorScheme: 'light' | 'dark' = 'light',
): Promise<OpenedPage> => {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 900 } });
  await context.addInitScript({ path: inPage });
  const page = await context.newPage();
  const trouble: string[] = [];
  page.on('console', (message) => trouble.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => trouble.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const address = `file://${file}`;
  page.on('request', (request) => {
    if (request.url() !== address && !request.url().startsWith('data:')) trouble.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  return { page, trouble };
};
