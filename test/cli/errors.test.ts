import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportFailure, type OutputOptions } from '../../cli/answer.ts';
import { openLiveSandbox, type LiveSandbox } from './live-sandbox.ts';
import { launcher, runCli, startCli } from './run-cli.ts';

/** What a user sees of an error, whoever caused it: what is wrong, where, and how to correct it. */

let sandbox: LiveSandbox;
const file = (name: string): string => path.join(sandbox.folder, name);

beforeAll(async () => {
  sandbox = await openLiveSandbox();
  await Promise.all([
    mkdir(file('folder')),
    writeFile(file('empty'), ''),
    writeFile(file('binary'), randomBytes(100_000)),
    writeFile(file('huge'), JSON.stringify({ noise: 'x. '.repeat(3_000_000) })),
    writeFile(file('deep'), '['.repeat(100_000)),
    writeFile(
      file('azure.json'),
      JSON.stringify({ schemaId: 'azureMonitorCommonAlertSchema', data: { essentials: {}, alertContext: {} } }),
    ),
    writeFile(file('nobodys.json'), JSON.stringify({ hello: 'world' })),
    writeFile(file('list.yaml'), '- 1'),
    writeFile(file('broken.yaml'), 'clusters: [{{'),
    writeFile(file('no-kubeconfig'), '{"a": [1, '),
  ]);
});
afterAll(() => sandbox.close());

const at = (text: string): string => text.replace(/^@/, `${sandbox.folder}/`);
const cli = (args: readonly string[]) => runCli(args.map(at), sandbox);

/** A line of a stack or of a bundle. */
const NOISE = /^\s+at |node:internal|\.mjs:\d/m;
const LONGEST = 1_500;

const mistakes: readonly (readonly [readonly string[], RegExp])[] = [
  [['fence', ''], /"" is not pod\/<namespace>\/<name>/],
  [['fence', ' '], /" " is not pod\/<namespace>\/<name>/],
  [['fence', '../../../api/v1/secrets'], /is neither an instance id nor a Node/],
  [['fence', 'x'.repeat(50_000)], /"x{199}…" is neither an instance id nor a Node/],
  [['fence', 'node\u0007name'], /is neither an instance id nor a Node/],
  [['fence', 'pod/../secrets'], /"pod\/..\/secrets" is not pod\/<namespace>\/<name>/],
  [['fence', 'pod/default/none'], /there is no pod default\/none in default/],
  [['release', ''], /"" is not pod\/<namespace>\/<name>/],
  [
    ['release', 'no-such-node'],
    /no fence in default is about a Node or a volume "no-such-node"\. Run cloudfence status to see every fence/,
  ],
  [['release', 'pvc/default/data-db-0', '--accept', 'I looked'], /accept is a statement about one Node/],
  [['fence', 'i-0123456789abcdef0', '--region', ''], /--region <name>.*empty: give a value, or omit the option/],
  [
    ['fence', 'i-0123456789abcdef0', '--region', 'eu west/1'],
    /"eu west\/1" is not a region: write one such as eu-west-1/,
  ],
  [['doctor', '--kubeconfig', ''], /--kubeconfig <file>.*empty/],
  [['doctor', '--kubeconfig', '/nowhere'], /no kubeconfig exists at \/nowhere: give --kubeconfig/],
  [['doctor', '--kubeconfig', '@folder'], /the kubeconfig .*folder cannot be read: it is a directory/],
  [['doctor', '--kubeconfig', '@no-kubeconfig'], /kubeconfig/],
  [['doctor', '--kubeconfig', '@binary'], /kubeconfig/],
  [['doctor', '--context', 'nobody'], /nobody/],
  [['doctor', '--cloud', 'moon'], /"moon" is not a supported cloud/],
  [
    ['doctor', '--config', '@missing.yaml'],
    /the configuration .*missing\.yaml cannot be read: the file does not exist/,
  ],
  [['doctor', '--config', '@list.yaml'], /list\.yaml: .*object/],
  [['doctor', '--config', '@broken.yaml'], /broken\.yaml/],
  [['doctor', '--config', '@empty'], /empty: has no value, so its settings may be lost: restore them, or write `{}`/],
  [['replay', ''], /the event/],
  [['replay', '@missing.json'], /the event .*missing\.json cannot be read: the file does not exist/],
  [['replay', '@folder'], /the event .*folder cannot be read: it is a directory: name a file/],
  [['replay', '@empty'], /the event cannot be replayed/],
  [['replay', '@binary'], /the event cannot be replayed/],
  [['replay', '@huge'], /the event cannot be replayed/],
  [['replay', '@deep'], /the event cannot be replayed/],
  [['replay', '@nobodys.json'], /the event cannot be replayed/],
  [['init', '-o', '@empty/stage.yml'], /stage\.yml cannot be written: a part of its path is a file: name another/],
  [
    ['drill', '--node', 'none', '--output', '@none/drill.md'],
    /none\/drill\.md cannot be written: its folder does not exist: create it/,
  ],
  [['sweep', '--timeout', 'soon'], /--timeout <time>.*such as 90s/],
  [['sweep', '--nonsense'], /unknown option '--nonsense'/],
  [['explode'], /unknown command 'explode'/],
  [['fence'], /missing required argument/],
  [['release', '--all', '--accept', ' '], /--accept requires a reason/],
];

it('a message quotes no control characters', async () => {
  const { stderr } = await cli(['fenc\u001B[2J\r']);
  expect(stderr).toContain('fenc [2J ');
  expect(stderr).not.toMatch(/(?!\n)\p{Cc}/u);
});

describe('a user error', () => {
  it.each(mistakes)(
    '%j exits 2 with a sentence, or with one JSON object if JSON was requested',
    async (args, words) => {
      const { code, stdout, stderr } = await cli([...args, '--json']);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(words) });
      expect(stderr).not.toMatch(NOISE);
      expect(stderr.length).toBeLessThan(LONGEST);
      expect(JSON.parse(stdout)).toMatchObject({
        outcome: 'failed',
        reason: expect.stringMatching(/^invalid: /),
        steps: [],
      });
    },
  );
});

it('a report that cannot be written names the file and the remedy', async () => {
  expect(await cli(['report', '--from', '@folder', '-o', '@none/report.html'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/none\/report\.html cannot be written: its folder does not exist: create it/),
  });
});

it('an event that no cloud understands is assigned to no cloud', async () => {
  expect((await cli(['replay', '@nobodys.json'])).stderr).not.toMatch(/read as an event of/);
  expect((await cli(['replay', '@azure.json'])).stderr).not.toMatch(/read as an event of (?:aws|gcp)/);
});

describe('an unexpected error', () => {
  const ended = (asked: Partial<OutputOptions>) => {
    const said = { lines: [] as string[], complaints: [] as string[] };
    const error = new TypeError(`cannot read it\n${'minified;'.repeat(200_000)}`);
    const code = reportFailure(
      error,
      { json: false, dryRun: false, debug: false, ...asked },
      { line: (text) => void said.lines.push(text), complain: (text) => void said.complaints.push(text) },
    );
    return { code, ...said };
  };

  it('is one sentence, and the promised JSON', () => {
    const { code, lines, complaints } = ended({ json: true });
    expect({ code, complaints }).toEqual({
      code: 1,
      complaints: [
        expect.stringMatching(
          /^cloudfence: Cloudfence failed unexpectedly \(TypeError: cannot read it\)\. This is a bug in Cloudfence\. Add --debug to see the stack trace$/,
        ),
      ],
    });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { outcome: 'failed', reason: expect.stringMatching(/^unexpected: /) },
    ]);
  });

  it('shows its cause with --debug', () => {
    expect(ended({ debug: true }).complaints.join('\n')).toMatch(/\n\s+at /);
  });
});

it('the built CLI shows the cause of a user error with --debug', async () => {
  const { code, stderr } = await startCli(['fence', 'no-such-node', '--debug'], sandbox);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/^cloudfence: "no-such-node" is neither .*\n.*\n\s+at /),
  });
});

it('the CLI continues if its output pipe is closed', async () => {
  const child = spawn(process.execPath, [launcher, 'doctor'], {
    env: { ...sandbox.environment, KUBECONFIG: sandbox.kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (data: Buffer) => void (said += data.toString()));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect({ code, said }).toEqual({ code: 0, said: '' });
});
