import { type gaxios, GoogleAuth, PassThroughClient } from 'google-auth-library';
import { PermissionDenied, CloudfenceError, Unavailable } from '../../fencing/model/errors.ts';

/** The identity with which Cloudfence calls Google Cloud, and other functions of its install. */

interface AuthOptions {
  /** https://developers.google.com/identity/protocols/oauth2/scopes */
  readonly scopes?: readonly string[];
  /** URL of another endpoint, for tests and unusual networks. Over plain HTTP, no credentials are sent. */
  readonly endpoint?: string | null;
  readonly transporterOptions?: gaxios.GaxiosOptions;
}

/**
 * The library determines a project before its first call, and starts `gcloud` for that. That takes a second, and
 * Cloudfence does not need it, because each path contains its project.
 */
const PROJECT_IN_EACH_PATH = '-';

export const isAnonymous = (endpoint: string | null | undefined): boolean => endpoint?.startsWith('http:') === true;

/** The name of the library's warning about an unexpected answer of the metadata server. */
const METADATA_WARNING = 'MetadataLookupWarning';

/** The codes of the last such warning, such as `EHOSTUNREACH`. The library does not put them into its error. */
const metadataFailure: { codes: string | null } = { codes: null };

const emitWarning = process.emitWarning.bind(process);

/**
 * Keeps the library's warning about the metadata server off standard error. Without credentials, it would stand there
 * beside the error of `loadCredentials`, which says the same and what to do. All other warnings appear.
 */
process.emitWarning = (warning: string | Error, ...details: readonly unknown[]): void => {
  if (details[0] === METADATA_WARNING) metadataFailure.codes = / code = (.+)$/.exec(String(warning))?.[1] ?? null;
  else Reflect.apply(emitWarning, process, [warning, ...details]);
};

/** Returns an auth client with the credentials of the environment. They refresh their tokens before these expire. */
export const createAuth = ({ scopes = [], endpoint, transporterOptions }: AuthOptions): GoogleAuth => {
  const clientOptions = transporterOptions && { transporterOptions };
  if (isAnonymous(endpoint)) return new GoogleAuth({ authClient: new PassThroughClient(clientOptions) });
  return new GoogleAuth({
    scopes: [...scopes],
    projectId: PROJECT_IN_EACH_PATH,
    ...(clientOptions && { clientOptions }),
  });
};

/**
 * Finds the credentials. Every call must do this first, because without credentials the library ends the whole process.
 * After that, the requests of all kinds of credentials use the options of `transporterOptions`. The library does not
 * apply them to credentials that impersonate a service account.
 *
 * @throws PermissionDenied if there are none
 */
export const loadCredentials = async (
  auth: GoogleAuth,
  transporterOptions: gaxios.GaxiosOptions = {},
): Promise<void> => {
  try {
    const { transporter } = await auth.getClient();
    Object.assign(transporter.defaults, transporterOptions);
  } catch (cause) {
    const { codes } = metadataFailure;
    const metadata = codes === null ? '' : ` (the metadata server cannot be reached: ${codes})`;
    throw new PermissionDenied(
      `there are no credentials for Google Cloud${metadata}: run \`gcloud auth application-default login\`, or use a ` +
        'service account',
      { cause },
    );
  }
};

/** Returns the project of the environment's credentials, for messages. May start `gcloud`. */
export const projectOfCredentials = (): Promise<string> => new GoogleAuth().getProjectId();

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
