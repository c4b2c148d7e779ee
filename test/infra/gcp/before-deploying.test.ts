import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApi } from '../../../infra/gcp/api.ts';
import { checkInstall } from '../../../infra/gcp/install.ts';
import { projectPermissions, secretPermissions } from '../../../infra/gcp/permissions.ts';
import { requiredServices } from '../../../infra/gcp/ensure.ts';
import { defaults, deployerAt, installWith, packaged, plain } from './installed.ts';
import { openManagement, type Management } from './management.ts';
import { PROJECT } from './store.ts';

/**
 * The requirements before the first resource is created: permissions, enabled APIs, and the memory and CPU that Cloud
 * Run accepts together.
 */

let google: Management;
beforeEach(async () => {
  google = await openManagement();
});
afterEach(() => google.close());

const quiet = (): void => undefined;
const docs = readFileSync(new URL('../../../docs/gcp.md', import.meta.url), 'utf8');
const gke = { clusters: [{ name: 'a', gke: { location: 'europe-west1', project: PROJECT } }] };
const everything: readonly string[] = [...projectPermissions, ...secretPermissions];

/** Every call in the life of an install: created, changed, read, removed, created again. */
const wholeLife = async (): Promise<void> => {
  const deployer = deployerAt(google, { checkPermissions: false });
  await deployer.deploy(packaged(), quiet);
  google.store.objects.forEach((object, path) => {
    if (!path.includes('/services/'))
      google.store.objects.set(path, {
        ...object,
        ...Object.fromEntries(
          ['filter', 'schedule', 'ackDeadlineSeconds', 'title', 'displayName', 'lifecycle']
            .filter((key) => key in object)
            .map((key) => [key, 'x']),
        ),
      });
  });
  const old = `projects/${PROJECT}/alertPolicies/7`;
  google.store.objects.set(old, {
    name: old,
    displayName: 'old',
    userLabels: { cloudfence: 'cloudfence-prod', alarm: 'old' },
  });
  await deployer.deploy(packaged(' of tomorrow'), quiet);
  await deployer.info();
  await deployer.logs('on-event');
  await deployer.invoke('nobody', {}).catch(() => undefined);
  await deployer.remove(quiet);
  google.store.deletedRoles.set(`projects/${PROJECT}/roles/cloudfence_prod`, google.store.now);
  google.store.services.delete('monitoring.googleapis.com');
  await deployer.deploy(packaged(), quiet);
};

it('without credentials, a call says how to get them, and not the whole query', async () => {
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '/nowhere');
  const { ask } = createApi({ endpoint: null, wait: async () => undefined });
  const asked = ask({ method: 'GET', host: 'services', path: 'v1/projects/p/services:batchGet?names=a&names=b' });
  await expect(asked).rejects.toThrow(
    /^there are no credentials for Google Cloud.*gcloud auth application-default login/,
  );
  vi.unstubAllEnvs();
});

describe('the permissions of the person who deploys', () => {
  it('are enough if they are the listed ones', async () => {
    google.store.granted = new Set(everything);
    await expect(wholeLife()).resolves.toBeUndefined();
  });

  it.each(everything)('have to include %s', async (permission) => {
    google.store.granted = new Set(everything.filter((one) => one !== permission));
    await expect(wholeLife()).rejects.toThrow(`Permission '${permission}' denied`);
  });

  it('are listed in the documentation', () => {
    const [, block = ''] = /<!-- permissions -->\n([\s\S]*?)\n<!-- \/permissions -->/.exec(docs) ?? [];
    expect([...block.matchAll(/^ {2}- ([a-z]+\.[a-zA-Z.]+)$/gm)].map(([, one]) => one)).toEqual(projectPermissions);
    for (const one of secretPermissions) expect(docs).toContain(`\`${one}\``);
  });

  it('are checked first: if some are missing, nothing is created, and all missing ones are named', async () => {
    google.store.granted = new Set(everything.filter((one) => !/setIamPolicy|actAs/.test(one)));
    const said = await deployerAt(google).deploy(packaged(), quiet).catch(String);
    for (const lacking of everything.filter((one) => /setIamPolicy|actAs/.test(one))) expect(said).toContain(lacking);
    expect(said).toContain(`secretmanager.secrets.setIamPolicy on projects/${PROJECT}/secrets/prod-kubeconfig`);
    expect(google.writes()).toEqual([]);
  });
});

describe('the APIs of an install', () => {
  const commandIn = /gcloud services enable ([\s\S]*?) --project/.exec(docs)?.[1] ?? '';
  it('are the ones that the documentation enables', () => {
    const all = requiredServices(
      installWith({
        clusters: [...gke.clusters, { name: 'b', secretManager: { secret: `projects/${PROJECT}/secrets/b` } }],
      }),
    );
    expect(commandIn.split(/[\s\\]+/).toSorted()).toEqual([...all, 'serviceusage.googleapis.com'].toSorted());
  });

  it('are enabled if they are not, those of GKE and of secrets only with such a cluster', async () => {
    for (const name of ['container', 'secretmanager', 'monitoring', 'cloudbuild'])
      google.store.services.delete(`${name}.googleapis.com`);
    await deployerAt(google, gke).deploy(packaged(), quiet);
    expect(
      ['container', 'secretmanager', 'monitoring', 'cloudbuild'].map((name) =>
        google.store.services.has(`${name}.googleapis.com`),
      ),
    ).toEqual([true, false, true, true]);
  });

  it('are waited for while they still report that they are disabled', async () => {
    for (const name of ['iam', 'pubsub']) google.store.services.delete(`${name}.googleapis.com`);
    google.store.delays = { ...google.store.delays, service: 4 * 60_000 };
    await deployerAt(google).deploy(packaged(), quiet);
    expect(google.store.objects.has(`projects/${PROJECT}/sinks/cloudfence-prod-events`)).toBe(true);
  });

  it('are reported as disabled, in a sentence, to a person who may not enable them', async () => {
    google.store.services.delete('pubsub.googleapis.com');
    google.store.granted = new Set(everything.filter((one) => one !== 'serviceusage.services.enable'));
    await expect(deployerAt(google).deploy(packaged(), quiet)).rejects.toThrow(
      /batchEnable returned 403.*serviceusage\.services\.enable/,
    );
  });
});

describe('memory and CPU, which Cloud Run checks together', () => {
  const faults = (memory: number, cpu: number) => checkInstall('prod', { ...defaults, ...plain, memory, cpu }).faults;

  it.each([
    [512, 0.08],
    [512, 0.4],
    [1_024, 0.5],
    [1_024, 0.9],
    [256, 1],
    [4_096, 1],
    [8_192, 2],
    [2_048, 4],
    [16_384, 4],
    [24_576, 6],
    [32_768, 8],
  ])('%d MB are valid with %d CPUs', async (memory, cpu) => {
    expect(faults(memory, cpu)).toEqual([]);
    await expect(deployerAt(google, { memory, cpu }).deploy(packaged(), quiet)).resolves.toBeUndefined();
  });

  it.each([
    [513, 0.4],
    [1_025, 0.9],
    [4_097, 1],
    [8_193, 2],
    [2_047, 4],
    [16_385, 4],
    [4_095, 6],
    [24_577, 6],
    [4_095, 8],
  ])('%d MB are not valid with %d CPUs', (memory, cpu) => {
    expect(faults(memory, cpu)).toEqual([
      expect.stringMatching(`^memory: ${memory} MB is not valid with ${cpu} virtual CPUs`),
    ]);
  });

  it('are reported together with every other error', () => {
    expect(checkInstall('prod', { ...defaults, ...plain, memory: 8_192, sweepEvery: '7m' }).faults).toEqual([
      expect.stringMatching(/^sweepEvery/),
      expect.stringMatching(/^memory/),
    ]);
  });

  it.each([3, 5, 1.5])('a setting of %d CPUs does not exist', (cpu) =>
    expect(faults(2_048, cpu)).toEqual([expect.stringMatching(/^cpu/)]),
  );
});
