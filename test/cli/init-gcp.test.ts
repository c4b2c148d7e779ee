import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkInstall } from '../../infra/gcp/install.ts';
import { pathWithoutFunctions, stageOf } from './init-stage.ts';
import type { LiveCloud } from './live-cloud.ts';
import { openLiveGce } from './live-gce.ts';

let live: LiveCloud<unknown>;
beforeAll(async () => {
  live = await openLiveGce(() => undefined);
});
afterAll(() => live.close());

it('writes a stage file that the deployment accepts', async () => {
  const { answer, text, written, whole } = await stageOf(live, 'infra/gcp/parameters.yml');
  expect(answer).toMatchObject({ code: 0, stderr: '' });
  expect(written).toEqual({
    project: 'sandbox-project',
    region: 'europe-west1',
    shadow: true,
    clusters: [
      {
        name: 'sandbox',
        secretManager: { secret: 'projects/sandbox-project/secrets/cloudfence-sandbox-kubeconfig' },
      },
    ],
  });
  expect(checkInstall('prod', whole).faults).toEqual([]);
  expect(text).toContain('# project: by the machine IDs: sandbox-project (2 Nodes)');
});

it('writes a configuration with which the doctor of the CLI is ready', async () => {
  const { configuration, doctor } = await pathWithoutFunctions(live);
  expect(configuration).toMatchObject({ shadow: true, clusters: [{ name: 'sandbox', context: 'sandbox' }] });
  expect(doctor).toMatchObject({ code: 0, stdout: expect.stringContaining('\nREADY') });
});
