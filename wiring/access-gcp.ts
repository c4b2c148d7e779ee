import { gkeEndpoint, gkeTokens } from '../providers/gcp/gke.ts';
import { platformAuth, type RestOptions } from '../providers/gcp/rest.ts';
import { keptSecret } from '../providers/gcp/secret-manager.ts';
import { notKept } from './access-by-entry.ts';
import type { CloudAccess } from './cloud-kit.ts';

/** Ways into clusters that GKE manages or Secret Manager keeps. */
export const gcpAccess = (options: RestOptions): CloudAccess => {
  const auth = platformAuth(options);
  return {
    managedCluster: async (entry, signal) => {
      if (!('gke' in entry)) throw notKept('gcp', entry);
      const { cluster = entry.name, ...place } = entry.gke;
      return { ...(await gkeEndpoint(auth, options, { ...place, cluster }, signal)), token: gkeTokens(auth) };
    },
    secret: async (entry, signal) => {
      if (!('secretManager' in entry)) throw notKept('gcp', entry);
      return keptSecret(auth, options, entry.secretManager, signal);
    },
  };
};
