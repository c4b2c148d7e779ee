import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { ZONE_LABEL } from '../../kubernetes/names.ts';
import { isReady, nameOf, readySince } from './cluster-objects.ts';
import { isFenced } from './fence-on-node.ts';
import type { Interference } from './interference.ts';
import type { Cluster } from './kubernetes.ts';
import type { Machine } from './machines.ts';
import { providerIdOf } from './names.ts';
import { EPOCH } from './process.ts';

/** When a machine that runs may be powered off: its Node is unreachable for long enough, and nobody else's is. */

/** These times are in docs/safety.md. A check must not follow a time of the shipped code (ms). */
const STALE_LEASE_MS = 60_000;
const UNREACHABLE_MS = 5 * 60_000;
const SURVEY_LASTS_MS = 30_000;
const SECOND_MS = 1_000;

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

type Broken = 'power-off-by-policy' | 'network-power-off' | 'unclaimed-power-off';

interface World {
  readonly now: () => number;
  readonly cluster: Cluster;
  readonly maxSkew: number;
  /** How old a proof may be when its call takes effect (ms). */
  readonly proofLasts: number;
  readonly interference: Pick<Interference, 'unfencedFor'>;
  /** How long a run may act on what it has read of a cluster (ms). */
  readonly readLasts: number;
  readonly fail: (breaks: Broken, says: string) => void;
}

/** Returns a check of the power-off of a machine, which has this Node. */
export const createPowerOffs = ({ now, cluster, interference, maxSkew, proofLasts, readLasts, fail }: World) => {
  /** How long a Node has been silent, according to its Lease (ms). Without a Lease, it has always been silent. */
  const silentFor = (node: string): number => {
    const renewed = Date.parse(cluster.leaseOf(node) ?? '');
    return Number.isNaN(renewed) ? Infinity : EPOCH + now() - renewed;
  };
  /** No survey is so old that it does not show such a silence. */
  const isLongSilent = (node: V1Node): boolean =>
    silentFor(nameOf(node)) > STALE_LEASE_MS + SURVEY_LASTS_MS + maxSkew + proofLasts;
  /** No survey is so old that it shows an earlier fence. */
  const isFencedInSurvey = (node: V1Node): boolean =>
    isFenced(node) || interference.unfencedFor(node) <= SURVEY_LASTS_MS + proofLasts;
  /**
   * If other Nodes are silent too, the network may be down. A fenced Node that is silent shows nothing about the
   * network. One that is not silent shows that its zone reaches the API server.
   */
  const networkWorks = ({ name, zone: own }: Machine, node: V1Node): void => {
    const nodes = cluster.objects.nodes.all();
    const silent = nodes.filter((one) => one !== node && !isFencedInSurvey(one) && isLongSilent(one));
    const zone = nodes.filter(({ metadata }) => metadata?.labels?.[ZONE_LABEL] === own);
    if (silent.length > 0)
      fail('network-power-off', `${name} is powered off although ${silent.map(nameOf).join(', ')} is silent too`);
    if (zone.every((one) => one === node || isLongSilent(one)))
      fail('network-power-off', `${name} is powered off although its whole zone is silent`);
  };
  const unclaimed = (machine: Machine, node: V1Node): void => {
    const nodes = cluster.objects.nodes.all();
    const other = nodes.find((one) => one !== node && one.spec?.providerID === providerIdOf(machine));
    if (other && now() - (other.metadata?.creationTimestamp?.getTime() ?? 0) + EPOCH > SURVEY_LASTS_MS + readLasts)
      fail('unclaimed-power-off', `${machine.name} is powered off although ${nameOf(other)} names it too`);
  };
  const isUnreachable = ({ name }: Machine, node: V1Node): void => {
    const lasts = now() + EPOCH - readySince(node);
    // The kubelet may reach the API server again after the last read.
    if (isReady(node) && lasts <= proofLasts) return;
    if (isReady(node)) fail('power-off-by-policy', `${name} is powered off although its Node is Ready`);
    else if (lasts < UNREACHABLE_MS - maxSkew - SECOND_MS)
      fail('power-off-by-policy', `${name} is powered off after its Node was unreachable for ${lasts} ms`);
    if (silentFor(nameOf(node)) < STALE_LEASE_MS - maxSkew - SECOND_MS)
      fail('power-off-by-policy', `${name} is powered off although its kubelet renews its Lease`);
  };
  return (machine: Machine, node: V1Node | undefined): void => {
    if (!node) return fail('power-off-by-policy', `${machine.name} is powered off, which has no Node`);
    if (node.metadata?.labels?.[CONTROL_PLANE] !== undefined)
      fail('power-off-by-policy', `${machine.name} is powered off, which runs the control plane`);
    isUnreachable(machine, node);
    networkWorks(machine, node);
    unclaimed(machine, node);
  };
};
