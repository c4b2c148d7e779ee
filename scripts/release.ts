import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { repositoryRoot } from './bundle.ts';
import { librariesIn, librarySchema, licensesText, type Library, billOfMaterials } from './libraries.ts';
import { writeChart, releasedServices, writeDocument, writeZips, writeStack } from './released.ts';

/**
 * Creates a release: everything that is needed to install Cloudfence without a checkout. The same commit gives the same
 * bytes. The only time in a release is the time of the commit, or SOURCE_DATE_EPOCH if it is set.
 */

const run = promisify(execFile);
const { version } = manifest;
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: path.join(repositoryRoot, 'dist/release', version) },
    'made-at': { type: 'string' },
    'download-from': { type: 'string', default: 'https://example.com/cloudfence' },
  },
});
const out = path.resolve(values.out);

const madeAt = async (): Promise<Date> => {
  const seconds =
    values['made-at'] || (await run('git', ['log', '-1', '--format=%ct'], { cwd: repositoryRoot })).stdout;
  return new Date(Number(seconds) * 1_000);
};

const pack = async (): Promise<readonly Library[]> => {
  await run('npm', ['pack', '--silent', '--pack-destination', out], { cwd: repositoryRoot, maxBuffer: 1 << 24 });
  return librarySchema
    .array()
    .parse(JSON.parse(await readFile(path.join(repositoryRoot, 'dist/libraries.json'), 'utf8')));
};

const clouds = async (): Promise<readonly Library[]> => {
  const folders: string[] = [];
  for (const released of await releasedServices()) {
    const into = path.join(out, released.cloud);
    folders.push(...(await writeZips(released, into)));
    await writeDocument(released, into);
    if (released.deployable === null) await writeStack(version, into);
  }
  return librariesIn(folders);
};

const copies: Readonly<Record<string, string>> = {
  LICENSE: 'LICENSE',
  NOTICE: 'NOTICE',
  'docs/install.md': 'install.md',
  'infra/kubernetes/rbac.yaml': 'kubernetes/rbac.yaml',
  'infra/kubernetes/admission-policy.yaml': 'kubernetes/admission-policy.yaml',
  'infra/kubernetes/diagnose-rbac.yaml': 'kubernetes/diagnose-rbac.yaml',
  'infra/schemas': 'schemas',
};

const sha256 = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path.join(out, file)))
    .digest('hex');

/**
 * Returns the manifest of the kubectl plugin for krew, in JSON, which is YAML.
 * https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
const krewManifest = async (): Promise<object> => {
  const archive = `cloudfence-${version}.tgz`;
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'cloudfence' },
    spec: {
      version: `v${version}`,
      homepage: values['download-from'],
      shortDescription: 'Fence Nodes whose cloud machine is off',
      description:
        'Says why a pod waits for its volume, and fences a Node whose cloud machine is proven off: it frees ' +
        'the pods and the disks, and releases the Node after a fresh boot.',
      caveats: 'This plugin needs Node.js 22.18 or newer on your PATH.',
      platforms: [
        {
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }] },
          uri: `${values['download-from']}/v${version}/${archive}`,
          sha256: await sha256(archive),
          files: [{ from: 'package/*', to: '.' }],
          bin: 'cli/cloudfence.js',
        },
      ],
    },
  };
};

const filesIn = async (): Promise<readonly string[]> =>
  (await readdir(out, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(out, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
    .sort();

/** Returns the checksums in the format that `sha256sum --check SHA256SUMS` reads. */
const sums = async (): Promise<string> => {
  const lines = (await filesIn()).map(async (file) => `${await sha256(file)}  ${file}\n`);
  return (await Promise.all(lines)).join('');
};

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const all = new Map([...(await pack()), ...(await clouds())].map((one) => [`${one.name}@${one.version}`, one]));
const libraries = [...all.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
await Promise.all(
  Object.entries(copies).map(([from, to]) =>
    cp(path.join(repositoryRoot, from), path.join(out, to), { recursive: true }),
  ),
);
await writeChart(path.join(out, `kubernetes/cloudfence-chart-${version}.tgz`));
await writeFile(path.join(out, 'THIRD-PARTY-LICENSES.txt'), licensesText(libraries));
await writeFile(
  path.join(out, 'sbom.cdx.json'),
  `${JSON.stringify(await billOfMaterials(libraries, await madeAt()), null, 2)}\n`,
);
await writeFile(path.join(out, 'krew.yaml'), `${JSON.stringify(await krewManifest(), null, 2)}\n`);
await writeFile(path.join(out, 'SHA256SUMS'), await sums());
console.log(`${out}: ${(await filesIn()).length} files`);
