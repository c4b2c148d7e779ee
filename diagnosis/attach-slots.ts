import { type AttachmentView, type AttachSlots, ifFound, type PodVolumeFacts } from './model/facts.ts';
import type { DiagnosisReading } from './ports.ts';

/**
 * Counts the attach slots of Nodes that may be full: the number that the driver reported to the scheduler, and the
 * number of attached volumes.
 */

type Facts = Pick<PodVolumeFacts, 'pod' | 'target'> & { readonly driver: string | null };

/** What the scheduler says about full Nodes, and about Nodes for which the cloud rejects another disk. */
const FULL = /exceed max volume count/;

const isRefused = ({ target }: Facts): boolean =>
  ifFound(target?.attachment ?? null)?.attachError?.fault === 'attach-limit';

/** At most this many Nodes are read, the fullest first. */
const MOST_NODES = 8;

const isThere = ({ attached, deletingSince }: AttachmentView): boolean => attached || deletingSince !== null;

/** Returns the number of the driver's volumes on each Node, the fullest first. */
const takenOn = (all: readonly AttachmentView[], driver: string): readonly (readonly [string, number])[] =>
  [
    ...Map.groupBy(
      all.filter((one) => one.driver === driver && isThere(one)),
      ({ node }) => node,
    ),
  ]
    .map(([node, attachments]) => [node, attachments.length] as const)
    .toSorted(([, one], [, other]) => other - one);

const slotsOn = async (
  node: string,
  taken: number,
  driver: string,
  reading: DiagnosisReading,
): Promise<AttachSlots | null> => {
  const view = ifFound(await reading.node(node));
  if (view === null || view.drivers === 'unread') return null;
  return { node, taken, promised: view.drivers.find(({ name }) => name === driver)?.limit ?? null };
};

/** Reads nothing if no Node may be full. */
export const readSlots = async (facts: Facts, reading: DiagnosisReading): Promise<readonly AttachSlots[]> => {
  const { pod, target, driver } = facts;
  const refused = isRefused(facts);
  if (driver === null || !(refused || FULL.test(pod.unscheduled ?? ''))) return [];
  const all = await reading.attachments();
  if (all === 'unread') return [];
  const taken = takenOn(all, driver);
  const own = target?.nodeName ?? '';
  const counted = refused
    ? [[own, taken.find(([node]) => node === own)?.[1] ?? 0] as const]
    : taken.slice(0, MOST_NODES);
  const slots = await Promise.all(counted.map(([node, count]) => slotsOn(node, count, driver, reading)));
  return slots.filter((one) => one !== null);
};
