import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { PermissionDenied } from '../../../fencing/model/errors.ts';
import { doctor } from '../../../functions/gcp/doctor.ts';
import { createGceSandbox } from '../../../sandbox/gce-sandbox.ts';
import { installOver } from '../../functions/gcp/install.ts';
import { openKeyServer } from '../../providers/gcp/key-server.ts';
import { openService, type PackagedService } from '../packaged-service.ts';
import { deployerAt, packaged, plain } from './installed.ts';
import { openManagement, type Management } from './management.ts';

/** `serverless invoke` as a person types it, with a function whose doctor finds that a fence would not work. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let service: PackagedService;
let google: Management;

beforeAll(async () => {
  [service, google] = await Promise.all([openService({ 'prod.gcp': plain }), openManagement()]);
  await deployerAt(google).deploy(packaged(), () => undefined);
});
afterAll(() => Promise.all([google.close(), service.close()]));

const denied = () => Promise.reject(new PermissionDenied('Compute Engine did not allow compute.instances.get'));

/** The answer of the real function, which may not ask Compute Engine. */
const diagnosis = async () => {
  const keys = await openKeyServer();
  try {
    const { dependencies, limit } = installOver(createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) }), keys);
    const probes = [{ where: 'gcp', ask: denied, destructiveCalls: async () => [] }];
    const failing = { ...dependencies, openedCloud: { ...dependencies.openedCloud, probes } };
    return await doctor(async () => failing)({ headers: {}, body: {} }, limit());
  } finally {
    await keys.close();
  }
};

it('invoke -f doctor fails, and names the check that failed on its own line', async () => {
  const { status, body } = await diagnosis();
  google.answers.set('cloudfence-prod-doctor', body);
  google.statuses.set('cloudfence-prod-doctor', status);
  const { code, said } = await service.run(
    ['invoke', '-f', 'doctor', '-d', '{}', '-c', 'serverless.gcp.yml', '--stage', 'prod'],
    { CLOUDFENCE_GCP_ENDPOINT: google.url },
  );
  expect({ code, said }).toEqual({
    code: 1,
    said: expect.stringMatching(/^FAIL  gcp: .*Compute Engine did not allow compute\.instances\.get$/m),
  });
});
