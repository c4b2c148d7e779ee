import type { Subscription } from './subscription.ts';

/** What the stand-in is asked, what it answers, and what it knows. */

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
  /** Packages that the apps took, the latest last, each with the app's host. */
  readonly packages: { readonly host: string; readonly zip: Buffer }[];
  /** How many packages are still refused because the role of the one who writes them is not known everywhere yet. */
  roleSpreads: number;
  /** Why the last package was not taken; null when it was. */
  failed: string | null;
  /** What functions of the app answer. */
  readonly answers: Map<string, unknown>;
  /** Answers of operations that are under way, by their number. */
  readonly operations: Map<string, Reply>;
  readonly origin: string;
  /** Answers that somebody gives in the place of ARM or the app, until they are taken out. */
  readonly mishaps: Mishap[];
}

export interface Mishap {
  readonly method?: string;
  readonly path: RegExp;
  readonly reply: Reply;
}

export const error = (status: number, code: string, message: string): Reply => ({
  status,
  body: { error: { code, message } },
});
export const notFound = (what: string): Reply => error(404, 'ResourceNotFound', `${what} was not found`);
