import { parseDocument } from 'yaml';
import { z } from 'zod';
import { Unavailable } from '../fencing/model/errors.ts';

interface ApiServer {
  readonly server: string;
  /** PEM */
  readonly ca: string;
  /**
   * True when the users of the kubeconfig log in with a program and have no credentials in it, as users of Entra ID do.
   */
  readonly byEntra: boolean;
}

const cluster = z.object({
  cluster: z.object({ server: z.url({ protocol: /^https$/ }), 'certificate-authority-data': z.base64() }),
});
const user = z.object({ user: z.looseObject({ exec: z.unknown().optional() }) });

const kubeconfig = z
  .object({ clusters: z.array(cluster).min(1), users: z.array(user).default([]) })
  .transform(({ clusters: [first], users }): ApiServer => ({
    server: first?.cluster.server ?? '',
    ca: Buffer.from(first?.cluster['certificate-authority-data'] ?? '', 'base64').toString(),
    byEntra: users.some((one) => one.user.exec !== undefined),
  }));

/**
 * Returns the API server from a kubeconfig that a cloud issued. `source` names the kubeconfig in error messages.
 *
 * @throws Unavailable when the text is not a kubeconfig
 */
export const apiServerIn = (text: string, source: string): ApiServer => {
  const read = kubeconfig.safeParse(parseDocument(text).toJS());
  if (read.success) return read.data;
  throw new Unavailable(`the kubeconfig from ${source} cannot be read`, { cause: read.error });
};
