import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Checks the directories of the design and the directions between them with the import lines of every file. */

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Import {
  readonly from: string;
  readonly to: string;
}

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(path.join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(ts|js)$/.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));

const rooms = [
  'fencing',
  'diagnosis',
  'drill',
  'incidents',
  'report',
  'transport',
  'providers',
  'kubernetes',
  'sandbox',
  'config',
  'app',
  'functions',
  'cli',
  'demo',
  'infra',
  'scripts',
] as const;
const sources = rooms.flatMap(sourcesIn);

const importsOf = (file: string): readonly Import[] => {
  const text = readFileSync(path.join(root, file), 'utf8');
  const named = [
    ...text.matchAll(
      /^\s*(?:import|export)\b[^'"]*?from\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^import\s+['"]([^'"]+)['"]/gm,
    ),
  ];
  return named
    .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    .map((to) => ({ from: file, to: to.startsWith('.') ? path.join(path.dirname(file), to) : to }));
};

const all = sources.flatMap(importsOf);
const room = (file: string): string => file.split('/')[0] ?? '';
const isLocal = ({ to }: Import): boolean => rooms.some((name) => to.startsWith(`${name}/`));
const inWords = ({ from, to }: Import): string => `${from} → ${to}`;
const breaking = (rule: (one: Import) => boolean): readonly string[] => all.filter((one) => !rule(one)).map(inWords);

describe('directions between directories', () => {
  it('finds import lines to check', () => expect(all.length).toBeGreaterThan(300));

  const allowed: Readonly<Record<string, readonly string[]>> = {
    fencing: ['fencing'],
    // Why a pod waits. The clouds and the clusters return its facts.
    diagnosis: ['diagnosis', 'fencing'],
    // A trial with a real machine. The clouds and the clusters return its facts.
    drill: ['drill', 'fencing'],
    // The stored history of a machine, for people.
    incidents: ['incidents', 'fencing'],
    // What people read about incidents.
    report: ['report', 'incidents', 'fencing'],
    // What holds a destructive call back until it is sent. It is the same for every cloud and for Kubernetes, so it
    // belongs to none.
    transport: ['transport', 'fencing'],
    providers: ['providers', 'diagnosis', 'drill', 'fencing', 'incidents', 'transport'],
    kubernetes: ['kubernetes', 'diagnosis', 'drill', 'fencing', 'incidents', 'transport'],
    sandbox: ['sandbox', 'fencing'],
    config: ['config', 'fencing', 'providers'],
    // What the CLI and the functions share: it opens the clouds and the clusters that the settings name.
    app: ['app', 'config', 'diagnosis', 'fencing', 'incidents', 'kubernetes', 'providers'],
    functions: ['functions', 'diagnosis', 'fencing', 'incidents', 'providers', 'config', 'app'],
    cli: [
      'cli',
      'diagnosis',
      'drill',
      'fencing',
      'incidents',
      'report',
      'kubernetes',
      'providers',
      'config',
      'app',
      'functions',
      'demo',
    ],
    demo: ['demo', 'fencing', 'kubernetes', 'providers', 'config', 'app', 'functions', 'sandbox'],
    scripts: ['scripts', 'infra'],
    infra: ['infra', 'fencing', 'kubernetes', 'providers', 'config', 'app', 'functions'],
  };
  it.each(Object.entries(allowed))('%s imports only from %j', (name, targets) => {
    expect(breaking((one) => room(one.from) !== name || !isLocal(one) || targets.includes(room(one.to)))).toEqual([]);
  });

  /** Belongs to no cloud: what event readers share, and the contract of a plugin. */
  const isShared = (file: string): boolean =>
    file.startsWith('providers/events/') || /^providers\/[^/]+\.ts$/.test(file);

  it('no provider imports another', () => {
    const provider = (file: string) => file.split('/').slice(0, 2).join('/');
    expect(
      breaking(
        ({ from, to }) =>
          !from.startsWith('providers/') ||
          !to.startsWith('providers/') ||
          isShared(to) ||
          provider(from) === provider(to),
      ),
    ).toEqual([]);
  });

  it('a cloud is named only in its folder, the list of clouds, its entry points, its infra, and the demo', () => {
    const importers = (to: string) => {
      const [, cloud = ''] = to.split('/');
      if (isShared(to)) return [''];
      return [`providers/${cloud}/`, 'app/clouds.ts', `functions/${cloud}/`, `infra/${cloud}/`, 'demo/'];
    };
    expect(
      breaking(
        ({ from, to }) => !to.startsWith('providers/') || importers(to).some((importer) => from.startsWith(importer)),
      ),
    ).toEqual([]);
  });

  it.each([
    ['fencing/model/', ['fencing/model/']],
    ['fencing/rules/', ['fencing/model/', 'fencing/rules/']],
    ['fencing/loop/', ['fencing/model/', 'fencing/rules/', 'fencing/loop/']],
    ['diagnosis/model/', ['diagnosis/model/', 'fencing/model/']],
    ['diagnosis/rules/', ['diagnosis/model/', 'diagnosis/rules/', 'fencing/model/']],
  ])('%s imports only from %j', (folder, targets) => {
    expect(
      breaking(
        (one) => !one.from.startsWith(folder) || !isLocal(one) || targets.some((target) => one.to.startsWith(target)),
      ),
    ).toEqual([]);
  });

  it('no file imports itself through other files', () => {
    const importsBy = Map.groupBy(all.filter(isLocal), ({ from }) => from);
    const settled = new Set<string>();
    const circleFrom = (file: string, way: readonly string[]): readonly string[] | null => {
      if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
      if (settled.has(file)) return null;
      const found = (importsBy.get(file) ?? [])
        .map(({ to }) => circleFrom(to, [...way, file]))
        .find((circle) => circle !== null);
      settled.add(file);
      return found ?? null;
    };
    expect(sources.map((file) => circleFrom(file, [])).filter((circle) => circle !== null)).toEqual([]);
  });

  it('only the demo opens the sandbox', () => {
    expect(
      breaking(({ from, to }) => !to.startsWith('sandbox/') || from.startsWith('sandbox/') || from.startsWith('demo/')),
    ).toEqual([]);
  });

  it.each([
    ['@aws-sdk/', ['providers/aws/', 'functions/aws/', 'infra/serverless/removal-guard.ts']],
    ['@smithy/', ['providers/aws/']],
    ['@azure/', ['providers/azure/', 'functions/azure/', 'infra/azure/']],
    ['@google-cloud/', ['providers/gcp/']],
    ['google-auth-library', ['providers/gcp/', 'infra/gcp/']],
    ['@kubernetes/', ['kubernetes/']],
    ['hpagent', ['kubernetes/']],
    ['undici', []],
    ['commander', ['cli/']],
    [
      'yaml',
      [
        'config/',
        'cli/commands/init.ts',
        'cli/stage-file.ts',
        'infra/',
        'kubernetes/kubeconfig.ts',
        'scripts/',
        'providers/azure/plugin/access.ts',
      ],
    ],
  ])('%s stays inside %j', (library, places) => {
    expect(
      breaking(({ from, to }) => !to.startsWith(library) || places.some((place) => from.startsWith(place))),
    ).toEqual([]);
  });

  it('the 30 MB index of Google’s SDK is never loaded', () =>
    expect(breaking(({ to }) => to !== '@google-cloud/compute')).toEqual([]));

  it('fencing imports nothing from Node and only two small libraries', () => {
    const allowedLibraries = ['zod', 'zod/v4/core', 'p-limit'];
    expect(
      breaking((one) => room(one.from) !== 'fencing' || isLocal(one) || allowedLibraries.includes(one.to)),
    ).toEqual([]);
  });
});

const code = (file: string): string =>
  readFileSync(path.join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
const holding = (pattern: RegExp, files: readonly string[]): readonly string[] =>
  files.filter((file) => pattern.test(code(file)));

describe('what is in only one place', () => {
  it('only one file reads the environment', () =>
    expect(holding(/process\.env/, sources)).toEqual(['config/environment.ts']));
  it('fencing, diagnosis, providers, and their transport take time and randomness as arguments', () => {
    const files = sources.filter((file) =>
      ['fencing/', 'diagnosis/', 'providers/', 'transport/'].some((folder) => file.startsWith(folder)),
    );
    expect(holding(/Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|setTimeout\(/, files)).toEqual([]);
  });
  it('the model and the rules are pure: they never await', () => {
    expect(
      holding(
        /\basync\b|\bawait\b|\bnew Promise\b/,
        sources.filter((file) => /^(?:fencing|diagnosis)\/(?:model|rules)\//.test(file)),
      ),
    ).toEqual([]);
  });
  it('fencing names no cloud', () =>
    expect(
      holding(
        /\b(aws|ec2|ebs|azure|gce|gcp|google)\b/i,
        sources.filter((file) => file.startsWith('fencing/')),
      ),
    ).toEqual([]));
});
