import pLimit from 'p-limit';
import type { MachineFacts, MachineId } from '../fencing/model/machine.ts';

/** Looks at machines that take a separate call each. */

/** The number of concurrent reads: far below the limits of the clouds, and fast enough for a sweep. */
const AT_ONCE = 10;

/**
 * Returns the facts of these looks without the ones that failed. So a zone that does not answer does not hide the
 * machines of the other zones. A separate look at a machine that is left out shows the reason.
 * @throws the first error, if no look succeeded
 */
export const withoutFailed = (
  looks: readonly PromiseSettledResult<readonly MachineFacts[]>[],
): readonly MachineFacts[] => {
  const facts = looks.flatMap((look) => (look.status === 'fulfilled' ? look.value : []));
  const failed = looks.find((look) => look.status === 'rejected');
  if (failed && facts.length === 0) throw failed.reason;
  return facts;
};

/** Looks at each machine once. @throws what a look throws, if no look succeeded */
export const lookAtEach = async (
  machines: readonly MachineId[],
  look: (machine: MachineId) => Promise<MachineFacts>,
): Promise<readonly MachineFacts[]> => {
  const limit = pLimit(AT_ONCE);
  const looks = [...new Set(machines)].map((machine) => limit(async () => [await look(machine)]));
  return withoutFailed(await Promise.allSettled(looks));
};
