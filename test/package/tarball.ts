import { spawn } from 'node:child_process';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import manifest from '../../package.json' with { type: 'json' };
import { cloudsOf, installed, root, type Installed } from './installed.ts';
import { releases } from './releases.ts';

let there: Installed;

beforeAll(async () => {
  const { one } = await releases();
  there = await installed(path.join(one, `cloudfence-${manifest.version}.tgz`));
});

afterAll(async () => rm(path.dirname(there.folder), { recursive: true, force: true }));

const node = (...args: readonly string[]) => there.run(process.execPath, ...args);
const evaluated = (code: string) => node('--input-type=module', '-e', code);

describe('the tarball', () => {
  it('has less than 10 MB', () => expect(there.bytes).toBeLessThan(10_000_000));

  it('contains what package.json names: no tests, no sources, no maps', () => {
    const stray = there.files.filter((file) => /(?<!\.d)\.ts$|\.map$|^(?:test|sandbox|node_modules)\//.test(file));
    expect(stray).toEqual([]);
    expect(there.files).toEqual(
      expect.arrayContaining([
        'cli/cloudfence.js',
        'dist/cli/cloudfence.mjs',
        'dist/lib/fencing.mjs',
        'dist/THIRD-PARTY-LICENSES.txt',
      ]),
    );
  });

  it('has no script that npm would run, or warn about, when it is installed', async () => {
    const text = await readFile(path.join(there.folder, 'node_modules/cloudfence/package.json'), 'utf8');
    const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(text));
    for (const event of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts).not.toHaveProperty(event);
  });

  it('needs no other package', async () => {
    expect((await readdir(path.join(there.folder, 'node_modules'))).filter((name) => !name.startsWith('.'))).toEqual([
      'cloudfence',
    ]);
  });

  it('carries the license of each library that it contains', async () => {
    const text = await readFile(
      path.join(there.folder, 'node_modules/cloudfence/dist/THIRD-PARTY-LICENSES.txt'),
      'utf8',
    );
    for (const library of ['zod', 'commander', '@kubernetes/client-node', '@smithy/core'])
      expect(text).toMatch(new RegExp(`^${library} \\d.*\\(.+\\)$`, 'm'));
  });
});

describe('the CLI of the package', () => {
  it('prints its version', () => {
    expect(there.run('npx', '--offline', 'cloudfence', '--version')).toMatchObject({
      code: 0,
      stdout: `${manifest.version}\n`,
    });
  });

  it('plays the demo from the tarball alone, without an installation', () => {
    const { code, stdout } = there.run('npx', '--offline', '--yes', '--package', there.tarball, 'cloudfence', 'demo');
    expect(code).toBe(0);
    expect(stdout).toMatch(/As expected: .*data-unharmed/);
  });

  it('plays the demo without the language features that Node 20 lacks', async () => {
    const program = path.join(there.folder, 'node_modules/cloudfence');
    const start = path.join(there.folder, 'older.mjs');
    await writeFile(
      start,
      `const newer = [[Map, 'groupBy'], [Object, 'groupBy'], [Promise, 'withResolvers']];
      for (const [owner, name] of newer) delete owner[name];
      await import('${program}/cli/older-node.js');
      await import('${program}/dist/cli/cloudfence.mjs');`,
    );
    const { code, stdout } = node(start, 'demo');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('As expected') });
  });

  it('names its own files in the steps that it prints, and nothing of a checkout', async () => {
    const practice = spawn(process.execPath, ['node_modules/cloudfence/cli/cloudfence.js', 'sandbox'], {
      cwd: there.folder,
    });
    for await (const said of practice.stdout.iterator({ destroyOnReturn: false }))
      if (String(said).includes('pod/default/db-0')) break;
    const { stdout } = there.run(
      'sh',
      '-c',
      '. cloudfence-sandbox/environment && npx --offline cloudfence init --dry-run --json',
    );
    practice.kill();
    const { steps } = z.object({ steps: z.array(z.string()) }).parse(JSON.parse(stdout));
    const files = steps.flatMap((step) => step.match(/\S+\.(?:yaml|md)(?=,|$)/g) ?? []);
    const own = files.filter((file) => path.isAbsolute(file));
    expect(own.map((file) => path.basename(file))).toEqual(['rbac.yaml', 'install.md']);
    for (const file of own) expect((await stat(file)).isFile()).toBe(true);
    expect(steps.join('\n')).not.toContain('serverless');
  });

  it('is found by its exported name', () => {
    expect(evaluated("console.log(import.meta.resolve('cloudfence/cli'))").stdout).toContain('cli/cloudfence.js');
  });
});

describe('the modules of the package', () => {
  it('exports the rules and the loop', () => {
    const { code, stdout } = evaluated("console.log(Object.keys(await import('cloudfence/fencing')).join(' '))");
    expect(code).toBe(0);
    expect(stdout.split(/\s/)).toEqual(
      expect.arrayContaining(['PermissionDenied', 'decide', 'defaultPolicy', 'run', 'runAll', 'sweep']),
    );
  });

  it('exports each cloud and loads its library only when the cloud is opened', async () => {
    for (const cloud of await cloudsOf(there)) {
      const { stdout } = evaluated(
        `const { ${cloud} } = await import('cloudfence/providers/${cloud}'); console.log(${cloud}.name, typeof ${cloud}.open, typeof ${cloud}.readHints)`,
      );
      expect(stdout).toBe(`${cloud} function function\n`);
    }
  });
});

describe('the types of the package', () => {
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const options = { strict: true, noEmit: true, module: 'nodenext', target: 'es2024', skipLibCheck: false, types: [] };
  const checked = async (source: string) => {
    await writeFile(path.join(there.folder, 'own.ts'), source);
    await writeFile(
      path.join(there.folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['own.ts'] }),
    );
    const { code, stdout } = node(tsc, '-p', '.');
    return { code, stdout };
  };

  it('are enough for a user’s own cloud and policy', async () => {
    const clouds = (await cloudsOf(there)).map(
      (cloud) =>
        `import { ${cloud} } from 'cloudfence/providers/${cloud}';\nexport const of${cloud}: string | null = ${cloud}.machineOf({ source: 'providerID', driver: null, value: 'x' });`,
    );
    const source = `
      import { decide, defaultPolicy, type Cloud, type Policy, type View } from 'cloudfence/fencing';
      export const policy: Policy = { ...defaultPolicy, fenceAfter: 60_000 };
      export const own: Pick<Cloud, 'name' | 'diskOf'> = { name: 'own', diskOf: ({ handle }) => handle };
      export const why = (view: View): string => decide(view).because.says;`;
    expect(await checked([source, ...clouds].join('\n'))).toEqual({ code: 0, stdout: '' });
  });

  it('reject wrong values, even if the types are derived from a schema', async () => {
    const { code, stdout } = await checked(`
      import { defaultPolicy, type FenceRecord, type Policy } from 'cloudfence/fencing';
      export const policy: Policy = { ...defaultPolicy, detach: 'sometimes' };
      export const record: FenceRecord['machine'] = 7;`);
    expect(code).not.toBe(0);
    expect(stdout.match(/error TS2322/g)).toHaveLength(2);
  });
});
