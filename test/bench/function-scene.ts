import type { ClusterState } from '../../sandbox/cluster/store.ts';

/** A machine that has been off for two minutes, and the environment of the function that has to fence it. */
export interface FunctionScene {
  readonly machine: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly isFenced: () => boolean;
  readonly close: () => Promise<void>;
}

/** Whether a Node of the cluster is in quarantine. */
export const someNodeIsFenced = ({ nodes }: Pick<ClusterState['objects'], 'nodes'>): boolean =>
  Object.values(nodes).some(({ spec }) => spec.taints?.some(({ key }) => key === 'cloudfence.dev/quarantine'));
