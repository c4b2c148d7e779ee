import { InvalidConfiguration } from '../fencing/errors.ts';
import { aksKubeconfig, aksTokens, type AksOptions } from '../providers/azure/aks.ts';
import { vaultSecret } from '../providers/azure/key-vault.ts';
import { notKept } from './access-by-entry.ts';
import { apiServerIn } from './api-server-in.ts';
import type { CloudAccess } from './cloud-kit.ts';

export interface AzureAccessOptions extends AksOptions {
  /** Of clusters whose entry names none. */
  readonly subscription: string | null;
  /** Wall clock, epoch ms. */
  readonly now: () => number;
}

/** Ways into clusters that AKS manages or Key Vault keeps. Key Vault needs no subscription. */
export const azureAccess = ({ subscription: usual, now, ...options }: AzureAccessOptions): CloudAccess => ({
  managedCluster: async (entry, signal) => {
    if (!('aks' in entry)) throw notKept('azure', entry);
    const { cluster = entry.name, resourceGroup, subscription = usual } = entry.aks;
    if (subscription === null) throw new InvalidConfiguration([`no subscription for the AKS cluster ${cluster}: name it in the entry, or set AZURE_SUBSCRIPTION_ID`]);
    const { server, ca, byEntra } = apiServerIn(await aksKubeconfig(options, { subscription, resourceGroup, cluster }, signal), `AKS, of the cluster ${cluster}`);
    if (!byEntra) throw new InvalidConfiguration([`the AKS cluster ${cluster} knows no users of Entra ID: enable that, or keep a kubeconfig in a Key Vault`]);
    return { server, ca, token: aksTokens(options, now) };
  },
  secret: async (entry, signal) => {
    if (!('keyVault' in entry)) throw notKept('azure', entry);
    return vaultSecret(options, entry.keyVault, signal);
  },
});
