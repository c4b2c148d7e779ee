import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { PermissionDenied } from '../../../fencing/model/errors.ts';
import { doctor } from '../../../functions/azure/handlers.ts';
import { azureInstall, post } from '../../functions/azure-install.ts';
import { scene } from '../../sandbox/azure/azure-runs.ts';
import { openService, type PackagedService } from '../packaged-service.ts';
import { deployingAt, packaged } from './installed.ts';
import { openManagement, type Management } from './management.ts';
import { plain } from './stage-files.ts';

/** `serverless invoke` as a person types it, with an app whose doctor finds that a fence would not work. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let service: PackagedService;
let management: Management;

beforeAll(async () => {
  [service, management] = await Promise.all([openService({ 'prod.azure': plain }), openManagement()]);
  const { deployer, say } = deployingAt(management);
  await deployer.deploy(packaged(), say);
});
afterAll(() => Promise.all([management.close(), service.close()]));

/** The answer of the real function, which may not read its machine in ARM. */
const diagnosis = async () => {
  const { getDependencies, context } = azureInstall(scene().world);
  const failing = async () => {
    const dependencies = await getDependencies();
    const ask = () => Promise.reject(new PermissionDenied('Azure did not allow virtualMachines/read'));
    const probes = dependencies.openedCloud.probes.map((probe) => ({ ...probe, ask }));
    return { ...dependencies, openedCloud: { ...dependencies.openedCloud, probes } };
  };
  const { status, body } = await doctor(failing)(post({}), context);
  return { status, body: JSON.parse(body) as unknown };
};

it('invoke -f doctor fails, names the check that failed on its own line, and asks only once', async () => {
  const reply = await diagnosis();
  management.azure.mishaps.push({ method: 'POST', path: /\/api\/doctor$/, reply });
  const { code, said } = await service.run(
    ['invoke', '-f', 'doctor', '-c', 'serverless.azure.yml', '--stage', 'prod'],
    management.environment,
  );
  expect({ code, said }).toEqual({
    code: 1,
    said: expect.stringMatching(/^FAIL  azure: .*Azure did not allow virtualMachines\/read$/m),
  });
  expect(management.recorded.filter(({ url }) => url.pathname === '/api/doctor')).toHaveLength(1);
});
