import type { DefaultAzureCredential } from '@azure/identity';

const usualCredential = async (): Promise<DefaultAzureCredential> =>
  new (await import('@azure/identity')).DefaultAzureCredential();

/** Whatever identity the environment gives, such as a managed one; loaded by the first request that needs a token. */
export const lazyCredential = (): Pick<DefaultAzureCredential, 'getToken'> => {
  let opened: Promise<DefaultAzureCredential> | null = null;
  const getToken: DefaultAzureCredential['getToken'] = async (scopes, options) => {
    opened ??= usualCredential();
    return (await opened).getToken(scopes, options);
  };
  return { getToken };
};
