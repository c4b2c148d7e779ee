import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import manifest from '../package.json' with { type: 'json' };
import { repositoryRoot } from './bundle.ts';
import type { Library } from './licenses.ts';

/**
 * Builds the CycloneDX bill of materials from what npm reports about the lock file, limited to the libraries in the
 * release.
 */

const component = z.looseObject({ 'bom-ref': z.string(), name: z.string(), version: z.string() });
const dependency = z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) });
const bill = z.looseObject({
  metadata: z.looseObject({ component }),
  components: z.array(component),
  dependencies: z.array(dependency),
});

const uuid = (text: string): string =>
  createHash('sha256')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-5$3-a$4-$5');

/**
 * Marks a library as required. In the lock file all libraries are devDependencies, because the bundles contain them,
 * but a release requires them.
 */
const shippedAs = ({ properties: _ofTheCheckout, ...one }: z.infer<typeof component>) => ({
  ...one,
  scope: 'required',
});

const SBOM = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--loglevel', 'error'];

export const billOfMaterials = async (libraries: readonly Library[], madeAt: Date): Promise<object> => {
  const { stdout } = await promisify(execFile)('npm', SBOM, { cwd: repositoryRoot, maxBuffer: 1 << 26 });
  const whole = bill.parse(JSON.parse(stdout));
  const shipped = new Set(libraries.map(({ name, version }) => `${name}@${version}`));
  const components = [
    ...new Map(
      whole.components
        .filter(({ name, version }) => shipped.has(`${name}@${version}`))
        .map((one) => [`${one.name}@${one.version}`, shippedAs(one)]),
    ).values(),
  ];
  const missing = [...shipped].filter((id) => components.every(({ name, version }) => `${name}@${version}` !== id));
  if (missing.length > 0) throw new Error(`the lock file does not name ${missing.join(', ')}`);
  const refs = new Set(components.map((one) => one['bom-ref']));
  const own = whole.metadata.component['bom-ref'];
  const dependencies = whole.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map((one) => ({ ...one, dependsOn: one.dependsOn.filter((ref) => refs.has(ref)) }));
  // npm takes the component's name from the folder, and adds itself with its version. Neither belongs in a release.
  const { tools: _npm, ...metadata } = whole.metadata;
  const described = {
    ...metadata,
    timestamp: madeAt.toISOString(),
    component: { ...metadata.component, name: manifest.name },
  };
  const content = {
    ...whole,
    metadata: described,
    components,
    dependencies: [{ ref: own, dependsOn: [...refs] }, ...dependencies],
  };
  return { ...content, serialNumber: `urn:uuid:${uuid(JSON.stringify({ components, dependencies }))}` };
};
