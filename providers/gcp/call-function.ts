import { PassThroughClient } from 'google-auth-library';
import { CloudfenceError, PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import { createAuth, loadCredentials } from './credentials.ts';

/**
 * Calls another function of the install with a token that is made for it.
 * https://cloud.google.com/run/docs/authenticating/service-to-service
 */

export interface FunctionAnswer {
  readonly status: number;
  /** The body of the answer, parsed once if it is JSON. */
  readonly body: unknown;
}

/** Makes a client. Over plain HTTP, it sends no token. */
const clientFor = async (url: string) => {
  if (url.startsWith('http:')) return new PassThroughClient();
  const auth = createAuth({});
  await loadCredentials(auth);
  return auth.getIdTokenClient(url);
};

/** Calls the function and returns any answer except a denial of access. @throws PermissionDenied, Unavailable */
export const callFunction = async (url: string, body: object, lastsMs: number): Promise<FunctionAnswer> => {
  try {
    const client = await clientFor(url);
    const { status, data } = await client.request<unknown>({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      data: JSON.stringify(body),
      timeout: lastsMs,
      validateStatus: () => true,
    });
    if (status === 401 || status === 403)
      throw new PermissionDenied(`${url} rejected the call with status ${status}: check who may invoke the function`);
    return { status, body: data };
  } catch (cause) {
    if (cause instanceof CloudfenceError) throw cause;
    throw new Unavailable(`${url} did not respond: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
};
