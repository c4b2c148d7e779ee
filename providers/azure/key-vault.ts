import { z } from 'zod';
import { restCall, type RestOptions } from './rest.ts';

export interface VaultSecret {
  /** Name of a vault of public Azure, the name of any vault's host, or a URL. */
  readonly vault: string;
  readonly secret: string;
}

const API_VERSION = '7.4';

/** A bare name is a vault of public Azure. */
const urlOf = (vault: string): URL => {
  if (/^https?:/i.test(vault)) return new URL(vault);
  return new URL(`https://${vault.includes('.') ? vault : `${vault}.vault.azure.net`}`);
};

/** `https://vault.azure.net/.default`, and likewise in the clouds that are apart. */
const scopeOf = ({ hostname }: URL): string => `https://${hostname.split('.').slice(1).join('.')}/.default`;

const held = z.object({ value: z.string().min(1) }).transform(({ value }) => value);

/**
 * The text of the newest version of a secret. https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret
 *
 * @throws Unavailable, Denied, Refused
 */
export const vaultSecret = (options: RestOptions, { vault, secret }: VaultSecret, signal: AbortSignal): Promise<string> => {
  const url = urlOf(vault);
  return restCall(options, { method: 'GET', url: `${url.origin}/secrets/${encodeURIComponent(secret)}?api-version=${API_VERSION}`, scope: scopeOf(url), name: 'vaults/secrets/get' }, held, signal);
};
