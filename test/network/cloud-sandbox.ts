import type { ApiServer } from '../../sandbox/cluster/api/server.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import type { DiskOfClaim } from '../../sandbox/cluster/fixtures.ts';
import type { World } from '../../sandbox/world.ts';
import type { Answered, Request } from '../providers/stand-in.ts';

/** A cloud's sandbox, as the scenes and the network need it. */
export interface CloudSandbox<Parts extends ClusterParts = ClusterParts> {
  readonly world: World<Parts>;
  readonly addMachine: () => string;
  readonly nodeOf: (machine: string) => string;
  readonly addDisk: () => DiskOfClaim;
  readonly stop: (machine: string) => void;
  readonly api: (settings: Partial<Pick<ApiServer, 'faults'>>) => ApiServer;
  /** The cloud's answer to one request, and the name of the call. */
  readonly answer: (request: Request) => Answered & { readonly call: string; readonly body: string };
  /** Whether an answer says that a machine is off. */
  readonly offStates: RegExp;
  /** The environment in which a program uses the cloud at this address. */
  readonly environment: (url: string) => Readonly<Record<string, string>>;
}

export interface Start {
  readonly seed: number;
  readonly now: number;
}
