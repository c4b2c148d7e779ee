import { describe, expect, it } from 'vitest';
import { clusterAccess } from '../../app/clouds.ts';
import { cloudOfEntry } from '../../providers/cluster-entries.ts';
import type { CloudAccess } from '../../providers/plugin.ts';
import { connectCluster } from '../../app/connect-cluster.ts';
import { unhurried } from '../contract/cluster/harness.ts';
import { entryIn } from './access-server.ts';

describe('the access to a cluster', () => {
  it.each([
    ['{ name: a, kubeconfig: /etc/kube }', null],
    ['{ name: a, eks: {} }', 'aws'],
    ['{ name: a, secret: s }', 'aws'],
    ['{ name: a, parameter: p }', 'aws'],
    ['{ name: a, aks: { resourceGroup: g } }', 'azure'],
    ['{ name: a, keyVault: { vault: v, secret: s } }', 'azure'],
    ['{ name: a, gke: { location: europe-west1-b, project: p } }', 'gcp'],
    ['{ name: a, secretManager: { secret: projects/p/locations/europe-west1/secrets/s, version: "3" } }', 'gcp'],
  ])('%s is kept by %s', (entry, cloud) => {
    expect(cloudOfEntry(entryIn(entry))).toBe(cloud);
  });

  it('is requested from the cloud that keeps it, whichever cloud has the machines', async () => {
    const asked: string[] = [];
    const openAccess = (cloud: string): CloudAccess => {
      const tell = async (): Promise<never> => {
        asked.push(cloud);
        throw new Error('enough');
      };
      return { managedCluster: tell, secret: tell };
    };
    const ways = clusterAccess(async (cloud) => openAccess(cloud));
    for (const entry of [
      '{ name: a, eks: {} }',
      '{ name: a, keyVault: { vault: v, secret: s } }',
      '{ name: a, gke: { location: l-1, project: p } }',
    ]) {
      await expect(connectCluster(entryIn(entry), ways, unhurried())).rejects.toThrow('enough');
    }
    expect(asked).toEqual(['aws', 'azure', 'gcp']);
  });

  it.each([
    '{ name: a, eks: {} }',
    '{ name: a, aks: { resourceGroup: g } }',
    '{ name: a, gke: { location: europe-west1-b, project: p } }',
  ])(
    'is asked for again if the API server does not answer, because its address may have changed (%s)',
    async (entry) => {
      let [now, asked] = [0, 0];
      const managedCluster: CloudAccess['managedCluster'] = async () => {
        asked += 1;
        return { server: `https://127.0.0.1:${asked}`, ca: null, token: async () => 't' };
      };
      const clock = { now: () => now, sleep: async () => undefined, deadline: () => unhurried() };
      const access = { managedCluster, secret: () => Promise.reject(new Error('no secret is needed')) };
      const { cluster, close } = await connectCluster(entryIn(entry), access, unhurried(), clock);
      await expect(cluster.identify('n', unhurried())).rejects.toThrow(/127\.0\.0\.1:1$/);
      now += 3_600_000;
      await expect(cluster.identify('n', unhurried())).rejects.toThrow(/127\.0\.0\.1:2$/);
      expect(asked).toBe(2);
      await close();
    },
  );
});

it.each([
  ['{ name: a, aks: { cluster: b } }', /aks\.resourceGroup/],
  ['{ name: a, aks: { resourceGroup: "../x" } }', /is not the name of a resource group/],
  ['{ name: a, keyVault: { vault: "x/y", secret: s } }', /is not a Key Vault/],
  ['{ name: a, keyVault: { vault: x, secret: "s?a=b" } }', /is not the name of a secret/],
  ['{ name: a, gke: { location: europe-west1, project: "p/../q" } }', /is not a project id/],
  ['{ name: a, secretManager: { secret: projects/p/secrets/s, version: 3 } }', /secretManager\.version/],
  ['{ name: a, secretManager: { secret: kube } }', /write projects\/<project>\/secrets\/<name>/],
])('%s is refused', (entry, words) => expect(() => entryIn(entry)).toThrow(words));
