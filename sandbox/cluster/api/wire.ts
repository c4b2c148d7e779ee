/** One request as received, and its answer. `path` includes the query string; header names are in lower case. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** `drop` means that the connection breaks and the client gets no response. */
export type ApiAnswer = ApiResponse | 'drop';

export const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

export const text = (status: number, body: string): ApiResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body,
});
