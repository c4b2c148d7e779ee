import { VersionApi } from '@kubernetes/client-node/dist/gen/index.js';
import type { Clock } from './clock.ts';
import type { Reader } from './connection.ts';

export interface ServerVersion {
  readonly text: string;
  /**
   * The out-of-service taint detaches volumes by default since 1.26.
   * https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
   */
  readonly taintSupported: boolean;
}

const FIRST_WITH_TAINT = 26;
const LASTS_MS = 3_600_000;

/** A version that cannot be read counts as one without the taint: then pods and attachments go one by one. */
export const versionOf = (gitVersion: string): ServerVersion => {
  const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return { text: gitVersion, taintSupported: Number(major) > 1 || (major === '1' && Number(minor) >= FIRST_WITH_TAINT) };
};

/** Asks for the server's version once an hour: control planes are upgraded under running clients. */
export const versionReader = ({ now }: Pick<Clock, 'now'>): ((reader: Reader) => Promise<ServerVersion>) => {
  let known: { readonly version: ServerVersion; readonly until: number } | null = null;
  return async (reader) => {
    if (known && now() < known.until) return known.version;
    const { gitVersion } = await reader.read(VersionApi, (api) => api.getCode());
    known = { version: versionOf(gitVersion), until: now() + LASTS_MS };
    return known.version;
  };
};
