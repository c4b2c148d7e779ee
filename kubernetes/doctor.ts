import { AuthorizationV1Api, CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { IdentityCarrier } from '../fencing/machine.ts';
import { nodeCarriers } from './carriers.ts';
import type { Connection, Writer } from './connection.ts';
import { readEntries } from './ledger.ts';
import type { Link } from './link.ts';
import type { NeededPermission } from './needed-permissions.ts';
import { neededPermissions } from './needed-permissions.ts';
import { pages } from './pages.ts';
import type { ServerVersion } from './server-version.ts';
import { versionReader } from './server-version.ts';

export interface CheckedPermission extends NeededPermission {
  readonly allowed: boolean;
}

export interface NodeIdentity {
  readonly node: string;
  readonly carriers: readonly IdentityCarrier[];
  /** Epoch ms. */
  readonly created: number;
}

/** What can be said of a cluster before anything has happened in it. All methods throw `Unavailable` or `Denied`. */
export interface Doctor {
  /** Nobody vouches for the API server: its certificate is not looked at. */
  readonly unverified: () => boolean;
  readonly permissions: (signal: AbortSignal) => Promise<readonly CheckedPermission[]>;
  readonly version: (signal: AbortSignal) => Promise<ServerVersion>;
  /** Whether there is a ledger in which fences are counted. */
  readonly ledger: (signal: AbortSignal) => Promise<boolean>;
  /** What names the machine of each Node, a page of Nodes at a time. */
  readonly identities: (signal: AbortSignal) => AsyncGenerator<readonly NodeIdentity[]>;
}

/** https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access */
const check = async (writer: Writer, permission: NeededPermission): Promise<CheckedPermission> => {
  const { for: _purpose, ...resourceAttributes } = permission;
  const body = { spec: { resourceAttributes } };
  const { status } = await writer.write(AuthorizationV1Api, (api) => api.createSelfSubjectAccessReview({ body }));
  return { ...permission, allowed: status?.allowed ?? false };
};

export const doctorOf = ({ reader, writer, clock }: Connection, { unverified }: Pick<Link, 'unverified'>): Doctor => {
  const version = versionReader(clock);
  return {
    unverified,
    permissions: (signal) => Promise.all(neededPermissions.map((permission) => check(writer(null, signal), permission))),
    version: (signal) => version(reader(signal)),
    ledger: async (signal) => (await readEntries(reader(signal))) !== null,
    identities: async function* (signal) {
      for await (const page of pages((paging) => reader(signal).read(CoreV1Api, (core) => core.listNode(paging)))) {
        yield page.map((node) => ({ node: node.metadata?.name ?? '', carriers: nodeCarriers(node), created: node.metadata?.creationTimestamp?.getTime() ?? 0 }));
      }
    },
  };
};
