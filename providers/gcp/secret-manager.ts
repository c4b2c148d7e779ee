import type { GoogleAuth } from 'google-auth-library';
import { z } from 'zod';
import { restGet, type RestOptions } from './rest.ts';

export interface KeptSecret {
  /** `projects/<project>/secrets/<name>`, or `projects/<project>/locations/<location>/secrets/<name>` for one that stays in a region. */
  readonly secret: string;
  /** A number, an alias, or `latest`. */
  readonly version: string;
}

const held = z.object({ payload: z.object({ data: z.base64().min(1) }) }).transform(({ payload }) => Buffer.from(payload.data, 'base64').toString());

/** Secrets that stay in a region are served there alone. https://cloud.google.com/secret-manager/regional-secrets/regional-secrets-overview */
const hostOf = (secret: string): string => {
  const location = /\/locations\/([^/]+)\//.exec(secret)?.[1];
  return location === undefined ? 'secretmanager.googleapis.com' : `secretmanager.${location}.rep.googleapis.com`;
};

/** The text of a secret. https://cloud.google.com/secret-manager/docs/access-secret-version @throws Unavailable, Denied, Refused */
export const keptSecret = (auth: GoogleAuth, options: RestOptions, { secret, version }: KeptSecret, signal: AbortSignal): Promise<string> =>
  restGet(auth, options, { host: hostOf(secret), path: `/v1/${secret}/versions/${version}:access`, name: 'secretmanager.versions.access' }, held, signal);
