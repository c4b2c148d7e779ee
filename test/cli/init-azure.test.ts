import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkInstall } from '../../infra/azure/install.ts';
import { pathWithoutFunctions, stageOf } from './init-stage.ts';
import type { LiveCloud } from './live-cloud.ts';
import { openLiveAzure } from './live-azure.ts';

let live: LiveCloud<unknown>;
beforeAll(async () => {
  live = await openLiveAzure(() => undefined);
});
afterAll(() => live.close());

it('writes a stage file that the deployment accepts', async () => {
  const { answer, text, written, whole } = await stageOf(live, 'infra/azure/parameters.yml');
  expect(answer).toMatchObject({ code: 0, stderr: '' });
  expect(written).toEqual({
    subscription: '11112222-3333-4444-8555-666677778888',
    location: 'westeurope',
    resourceGroups: ['mc_sandbox'],
    keyVaults: [expect.stringMatching(/\/vaults\/cloudfence-111122223333$/)],
    shadow: true,
    clusters: [
      { name: 'sandbox', keyVault: { vault: 'cloudfence-111122223333', secret: 'cloudfence-sandbox-kubeconfig' } },
    ],
  });
  expect(checkInstall('prod', whole).faults).toEqual([]);
  expect(text).toContain(
    '# location: of the functions: by a label of westeurope (2 Nodes), which a kubelet can write: check it',
  );
});

it('writes a configuration with which the doctor of the CLI is ready', async () => {
  const { configuration, doctor } = await pathWithoutFunctions(live);
  expect(configuration).toMatchObject({ shadow: true, clusters: [{ name: 'sandbox', context: 'sandbox' }] });
  expect(doctor).toMatchObject({ code: 0, stdout: expect.stringContaining('\nREADY') });
});
