/** ARM of public Azure, and of the clouds that are apart from it. */

const PUBLIC = 'https://management.azure.com';

/** Each of them is named like the public one, and gives its tokens for its own name. https://learn.microsoft.com/azure/azure-government/compare-azure-government-global-azure */
const SOVEREIGN = /^https:\/\/(management\.(?:chinacloudapi\.cn|usgovcloudapi\.net))\/?$/i;

export const armUrl = (endpoint: string | null): string => (endpoint ?? PUBLIC).replace(/\/$/, '');

/** What a token for that endpoint has to be for: any other endpoint stands before the public ARM. */
export const armScope = (endpoint: string | null): string => {
  const host = SOVEREIGN.exec(endpoint ?? '')?.[1];
  return host === undefined ? `${PUBLIC}/.default` : `https://${host.toLowerCase()}/.default`;
};
