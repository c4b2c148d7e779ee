import { expect, it } from 'vitest';
import { stage } from '../../../providers/gcp/plugin/stage.ts';
import { seenCluster } from '../seen-cluster.ts';

/** What `init` derives from clusters on Google Cloud. The names are those that `gcloud … get-credentials` writes. */

const on = (zone: string, project = 'mine') => ({
  id: `projects/${project}/zones/${zone}/instances/node`,
  providerID: `gce://${project}/${zone}/node`,
});
const GKE = { version: 'v1.33.1-gke.1234' };

it('init reads cluster, location, and project of GKE from the name of the context', () => {
  const name = 'gke_mine_europe-west1_blue';
  const cluster = seenCluster({ ...GKE, context: name, kubeconfigCluster: name, machines: [on('europe-west1-b')] });
  expect(stage.shortName(name)).toBe('blue');
  expect(stage.access(cluster, [cluster])).toMatchObject({
    managed: 'GKE',
    entry: { gke: { cluster: 'blue', location: 'europe-west1', project: 'mine' } },
  });
  expect(stage.steps('prod', [cluster], 'checkout')).toContain(
    'ACCOUNT=cloudfence-prod-run@mine.iam.gserviceaccount.com',
  );
});

it('init says what to check if the context has another name', () => {
  const cluster = seenCluster({ ...GKE, machines: [on('europe-west1-b')] });
  expect(stage.access(cluster, [cluster])).toMatchObject({
    entry: { gke: { location: 'europe-west1', project: 'mine' } },
    says: expect.stringContaining('check `cluster`'),
  });
});

it('init names the other projects with machines', () => {
  const cluster = seenCluster({ machines: [on('europe-west1-b'), on('europe-west1-c'), on('us-east1-b', 'yours')] });
  expect(stage.values([cluster])).toMatchObject([
    { key: 'project', value: 'mine' },
    { key: 'projects', value: ['yours'] },
    { key: 'region', value: 'europe-west1' },
    { key: 'invokers', value: null },
  ]);
});
