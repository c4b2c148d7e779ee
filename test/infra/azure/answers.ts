import type { Subscription } from './subscription.ts';

/** The requests to the stand-in, its answers, and its state. */

export interface Request {
  readonly method: string;
  readonly url: URL;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Azure extends Subscription {
  readonly deployments: Map<string, { readonly tags: Readonly<Record<string, string>> }>;
  /** Packages that the apps accepted, the latest one last, each with the host of its app. */
  readonly packages: { readonly host: string; readonly zip: Buffer }[];
  /** How many more packages are rejected because the role of the writer is not known everywhere yet. */
  roleSpreads: number;
  /** Why the last package was not accepted. Null if it was. */
  failed: string | null;
  /** The answers of the app's functions. */
  readonly answers: Map<string, unknown>;
  /** Answers of operations in progress, by number. */
  readonly operations: Map<string, Reply>;
  readonly origin: string;
  /** Answers that something else gives in place of ARM or the app, until they are removed. */
  readonly mishaps: InjectedFailure[];
}

export interface InjectedFailure {
  readonly method?: string;
  readonly path: RegExp;
  readonly reply: Reply;
}

export const error = (status: number, code: string, message: string): Reply => ({
  status,
  body: { error: { code, message } },
});
export const notFound = (what: string): Reply => error(404, 'ResourceNotFound', `${what} was not found`);
