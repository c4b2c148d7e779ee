import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deployerAt, packaged } from './installed.ts';
import { openManagement, type Management } from './management.ts';
import { PROJECT } from './store.ts';

/** A new resource or permission is not known everywhere at once. The time of the stand-in is virtual. */

const MINUTE = 60_000;
let google: Management;
beforeEach(async () => {
  google = await openManagement();
});
afterEach(() => google.close());

const deploy = () => deployerAt(google).deploy(packaged(), () => undefined);
const runner = `serviceAccount:cloudfence-prod-run@${PROJECT}.iam.gserviceaccount.com`;

describe('a deployment', () => {
  it('waits for minutes until other services know its new accounts', async () => {
    google.store.delays = { ...google.store.delays, account: 2 * MINUTE };
    await deploy();
    expect(google.store.policies.get(`projects/${PROJECT}`)?.bindings.flatMap(({ members }) => members)).toContain(
      runner,
    );
    expect(google.store.objects.has(`projects/${PROJECT}/locations/europe-west1/jobs/cloudfence-prod-sweep`)).toBe(
      true,
    );
  });

  it('rebuilds while a new permission of the build account is not known yet', async () => {
    google.store.delays = { ...google.store.delays, grant: 5 * MINUTE };
    await deploy();
    expect(
      google.store.objects.get(`projects/${PROJECT}/locations/europe-west1/functions/cloudfence-prod-on-event`),
    ).toMatchObject({ state: 'ACTIVE' });
  });

  it('asks less and less often, for at most some minutes', async () => {
    google.store.delays = { ...google.store.delays, account: Infinity };
    await expect(deploy()).rejects.toThrow(/setIamPolicy returned 400.*does not exist/);
    expect(google.store.now).toBeGreaterThan(5 * MINUTE);
    expect(google.store.now).toBeLessThan(15 * MINUTE);
    expect(google.recorded.length).toBeLessThan(100);
  });

  it('reports a failed build at once if the deployment cannot correct it', async () => {
    await deploy();
    google.store.policies.set(`projects/${PROJECT}`, {
      etag: 'x',
      bindings: google.store.policies.get(`projects/${PROJECT}`)?.bindings ?? [],
    });
    google.store.grantedAt.set(`serviceAccount:cloudfence-prod-make@${PROJECT}.iam.gserviceaccount.com`, Infinity);
    const before = google.store.now;
    await expect(deployerAt(google).deploy(packaged(' of tomorrow'), () => undefined)).rejects.toThrow(
      /the build of on-event failed: .*missing permission/,
    );
    expect(google.store.now - before).toBeLessThan(MINUTE);
  });

  it('does not wait for a secret that does not exist', async () => {
    google.store.objects.delete(`projects/${PROJECT}/secrets/prod-kubeconfig`);
    await expect(deploy()).rejects.toThrow(/prod-kubeconfig.* returned 404/);
    expect(google.store.now).toBeLessThan(MINUTE);
  });
});
