import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../config/environment.ts';
import { runCli } from './run-cli.ts';

const examples = fileURLToPath(new URL('../incidents/examples', import.meta.url));
const nowhere = { kubeconfig: '/nonexistent', environment: {}, clock: systemClock() };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-report-'));
  await cp(examples, path.join(folder, 'incidents/sandbox/node'), { recursive: true });
});
afterAll(() => rm(folder, { recursive: true }));

const report = (...args: readonly string[]) => runCli(['report', ...args], nowhere);

describe('cloudfence report', () => {
  it('writes a page of the incidents in a folder, without a cluster', async () => {
    const file = path.join(folder, 'report.html');
    expect(await report('--from', folder, '-o', file)).toEqual({
      code: 0,
      stdout: `${file}: 2 incidents\n`,
      stderr: '',
    });
    expect(await readFile(file, 'utf8')).toMatch(/^<!doctype html>/);
  });

  it('prints Markdown, or the form that -o names', async () => {
    expect((await report('--from', folder)).stdout).toMatch(/^# Incidents\n/);
    const { stdout } = await report('--from', folder, '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'cloudfence/report', version: 1, incidents: [{}, {}] });
  });

  it('reports only one machine, or says that there is nothing', async () => {
    expect((await report('i-00000000000000001', '--from', folder)).stdout).toContain('of i-00000000000000001');
    expect(await report('node-x', '--from', folder)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no incident of node-x in/),
    });
    expect((await report('--from', folder, '--since', '7d')).stdout).toContain('0 incidents since');
  });

  it('names an object that cannot be read, and continues', async () => {
    const damaged = path.join(folder, 'damaged');
    await mkdir(damaged);
    await cp(examples, damaged, { recursive: true });
    await writeFile(path.join(damaged, 'cut.json'), '{');
    const { code, stdout, stderr } = await report('--from', damaged);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'cloudfence: cut.json: it is not JSON. To mend it, copy the object again, or restore an earlier version of it.\n',
    });
    expect(stdout).toContain('cut.json: it is not JSON');
    await rm(damaged, { recursive: true });
  });

  it.each([
    [[], /say where the incidents are: --from/],
    [['--from', '/nonexistent'], /\/nonexistent is not a folder that can be read \(ENOENT\)/],
    [['--from', '.', '-o', 'report.pdf'], /report\.pdf names no form of a report/],
    [['--from', '.', '--since', 'yesterday'], /write a number and ms, s, m, h or d/],
  ])('rejects %j with what to do', async (args, says) => {
    const { code, stderr } = await report(...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(says) });
  });

  it('says which file cannot be written', async () => {
    const file = path.join(folder, 'no-such-folder/report.html');
    expect(await report('--from', folder, '-o', file)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/cannot be written/),
    });
  });
});
