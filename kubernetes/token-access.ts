import { Agent } from 'node:https';
import { httpsLink } from './https-link.ts';
import { keepSecret } from './kubeconfig-trust.ts';
import type { Link } from './link.ts';
import { bearer } from './link.ts';
import { POOL } from './pool.ts';

export interface TokenAccess {
  readonly server: string;
  /** The certificate authority (PEM) that vouches for the server; null where a public one does. */
  readonly ca: string | null;
  /** Asked before each request, so that it can renew a token in time. */
  readonly token: () => Promise<string>;
}

/** A link to a managed API server, whose tokens the cloud hands out. @throws InvalidConfiguration */
export const linkFromToken = ({ server, ca, token }: TokenAccess): Link => {
  keepSecret(server);
  const agent = new Agent({ ...POOL, ...(ca !== null && { ca }) });
  return httpsLink({ server, authentication: bearer(token), agent: async () => agent });
};
