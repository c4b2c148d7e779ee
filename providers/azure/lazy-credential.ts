import type { DefaultAzureCredential } from '@azure/identity';

const usualCredential = async (): Promise<DefaultAzureCredential> =>
  new (await import('@azure/identity')).DefaultAzureCredential();

/**
 * Uses the identity that the environment gives, such as a managed one. The first request that needs a token loads it.
 */
export const lazyCredential = (): Pick<DefaultAzureCredential, 'getToken'> => {
  let opened: Promise<DefaultAzureCredential> | null = null;
  const getToken: DefaultAzureCredential['getToken'] = async (scopes, options) => {
    opened ??= usualCredential();
    return (await opened).getToken(scopes, options);
  };
  return { getToken };
};
