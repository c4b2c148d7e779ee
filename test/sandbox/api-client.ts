import { handleApi } from '../../sandbox/cluster/api/handle.ts';
import type { ApiServer } from '../../sandbox/cluster/api/server.ts';
import { ADMIN_TOKEN, apiServerOf } from '../../sandbox/cluster/api/server.ts';
import { emptyCluster, storeOf } from '../../sandbox/cluster/store.ts';

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly kind?: string;
    readonly message?: string;
    readonly reason?: string;
    readonly details?: { readonly causes?: readonly { readonly reason: string; readonly field: string }[] };
    readonly metadata: {
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
      readonly continue?: string;
      readonly remainingItemCount?: number;
      readonly annotations?: Record<string, string>;
      readonly deletionTimestamp?: string;
    };
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
    readonly spec: {
      readonly taints?: readonly { readonly key: string }[];
      readonly unschedulable?: boolean;
      readonly drivers?: unknown;
    };
    readonly status: { readonly phase?: string; readonly allowed?: boolean; readonly reason?: string };
  };
}

export interface Ask {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
}

/** A new API server whose clock starts at 2026-11-21T10:00:00Z, and a client for it. */
export const freshApi = (settings: Partial<ApiServer> = {}) => {
  const clock = { now: Date.UTC(2026, 10, 21, 10) };
  const store = storeOf(emptyCluster());
  const server = apiServerOf({ store, now: () => clock.now, ...settings });
  const ask = (method: string, path: string, { body, headers = {}, token = ADMIN_TOKEN }: Ask = {}): ApiResponse => {
    const type = method === 'PATCH' ? 'application/json-patch+json' : 'application/json';
    const answer = handleApi(server, {
      method,
      path,
      headers: { authorization: `Bearer ${token}`, 'content-type': type, ...headers },
      body: body === undefined ? '' : JSON.stringify(body),
    });
    if (answer === 'drop') throw new Error('the connection was dropped');
    return {
      status: answer.status,
      headers: answer.headers,
      body: answer.body.startsWith('{') ? JSON.parse(answer.body) : { message: answer.body },
    };
  };
  return { server, store, clock, ask };
};

export const MERGE = { 'content-type': 'application/merge-patch+json' };
export const METADATA_LIST = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };
export const METADATA = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };
