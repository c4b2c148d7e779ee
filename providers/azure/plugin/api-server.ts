import { parseDocument } from 'yaml';
import { z } from 'zod';
import { Unavailable } from '../../../fencing/model/errors.ts';

/** Reads the API server of a cluster from the kubeconfig that AKS issues. */

interface ApiServer {
  readonly server: string;
  /** PEM */
  readonly ca: string;
  /**
   * Whether the users of the kubeconfig log in with a program and have no credentials in it, as users of Entra ID do.
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

/** Longer than any real kubeconfig (characters). The parser may need minutes for a text of megabytes. */
const LONGEST = 1_000_000;

/**
 * Returns the content of the text, or null if there is none. An alias without an anchor causes an error only in `toJS`.
 */
const yamlIn = (text: string): unknown => {
  if (text.length > LONGEST) return null;
  try {
    return parseDocument(text).toJS();
  } catch (error) {
    if (error instanceof ReferenceError || error instanceof RangeError) return null;
    throw error;
  }
};

/**
 * Parses the API server from a kubeconfig that a cloud issued. `source` names the kubeconfig in error messages.
 *
 * @throws Unavailable if the text is not a kubeconfig
 */
export const parseApiServer = (text: string, source: string): ApiServer => {
  const read = kubeconfig.safeParse(yamlIn(text));
  if (read.success) return read.data;
  throw new Unavailable(`the kubeconfig from ${source} cannot be read`, { cause: read.error });
};
