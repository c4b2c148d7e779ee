import type { NodeFacts, FenceInBoot } from './cluster-facts.ts';
import type { MachineFacts } from './machine.ts';

/** FNV-1a, 32 bits, in 7 characters: it tells the boots of one machine apart, and leaves room for more in a label's value. */
export const shortHash = (text: string): string => {
  let hash = 0x81_1c_9d_c5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93);
  return (hash >>> 0).toString(36).padStart(7, '0');
};

/** One boot by both accounts: the kubelet's bootID and the cloud's generation. */
const bootMark = (bootID: string, generation: string | null): string => `${shortHash(bootID)}${shortHash(generation ?? '')}`;

export const fenceInBoot = (fence: string, { bootID }: Pick<NodeFacts, 'bootID'>, { generation }: Pick<MachineFacts, 'generation'>): FenceInBoot => ({
  fence,
  boot: bootMark(bootID, generation),
});

/**
 * Whether it speaks of the boot that has ended. A machine that the cloud has forgotten has no boot left that could
 * be another; a cloud that knew no boot when the fence was removed said nothing of it; and where operations move the
 * generation as well, only the Node tells boots apart.
 */
export const isOfThisBoot = ({ boot }: FenceInBoot, { bootID }: Pick<NodeFacts, 'bootID'>, { generation, generationDrifts }: Pick<MachineFacts, 'generation' | 'generationDrifts'>): boolean =>
  generation === null || generationDrifts === true || boot === bootMark(bootID, null) ? boot.startsWith(shortHash(bootID)) : boot === bootMark(bootID, generation);
