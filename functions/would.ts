import type { Outcome } from '../fencing/outcome.ts';
import type { Wiring } from './wiring.ts';

/**
 * Which dry runs have been told of: once for each boot of a machine, however often a sweep finds it. A dry run writes nothing,
 * so this is remembered by the process alone: another one, or one that has begun anew, tells it once more.
 */
const toldBy = new WeakMap<Wiring['ports'], Map<string, string>>();

type Boot = Pick<Outcome, 'machine' | 'generation'>;

const bootOf = ({ generation }: Boot): string => generation ?? 'unknown';

const keyOf = (outcome: Outcome['outcome'], { machine }: Boot): string => `${outcome} ${machine}`;

const isWould = (outcome: Outcome['outcome']): outcome is 'would-fence' | 'would-release' => outcome === 'would-fence' || outcome === 'would-release';

/** Whether that was told already. */
export const wasTold = (outcome: 'would-fence' | 'would-release', boot: Boot, { ports }: Pick<Wiring, 'ports'>): boolean =>
  toldBy.get(ports)?.get(keyOf(outcome, boot)) === bootOf(boot);

/** False for the end of a dry run that was told already; from now on it was. */
export const isNews = (outcome: Outcome, wiring: Pick<Wiring, 'ports'>): boolean => {
  if (!isWould(outcome.outcome)) return true;
  if (wasTold(outcome.outcome, outcome, wiring)) return false;
  const told = toldBy.get(wiring.ports) ?? new Map<string, string>();
  toldBy.set(wiring.ports, told.set(keyOf(outcome.outcome, outcome), bootOf(outcome)));
  return true;
};
