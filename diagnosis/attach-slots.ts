import { type AttachmentView, type AttachSlots, ifFound, type PodVolumeFacts } from './model/facts.ts';
import type { ClusterReading } from './ports.ts';

/** Counts the attach slots of Nodes that may be full: what a driver promised the scheduler, and what is attached. */

type Facts = Pick<PodVolumeFacts, 'pod' | 'target'> & { readonly driver: string | null };

/** The scheduler's words for Nodes that are full, and for Nodes whose cloud refuses another disk. */
const FULL = /exceed max volume count/;

const isRefused = ({ target }: Facts): boolean =>
  ifFound(target?.attachment ?? null)?.attachError?.fault === 'attach-limit';

/** More Nodes than this are not read one by one: the fullest show enough. */
const MOST_NODES = 8;

const isThere = ({ attached, deletingSince }: AttachmentView): boolean => attached || deletingSince !== null;

/** Returns how many volumes of the driver each Node has, the fullest first. */
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
  reading: ClusterReading,
): Promise<AttachSlots | null> => {
  const view = ifFound(await reading.node(node));
  if (view === null || view.drivers === 'unread') return null;
  return { node, taken, promised: view.drivers.find(({ name }) => name === driver)?.limit ?? null };
};

/** Reads nothing unless a Node may be full. */
export const readSlots = async (facts: Facts, reading: ClusterReading): Promise<readonly AttachSlots[]> => {
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
