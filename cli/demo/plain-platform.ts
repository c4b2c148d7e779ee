import type { Reading } from '../../fencing/hint.ts';
import type { MachineId } from '../../fencing/machine.ts';
import { acknowledgeAll, deliveryOf } from '../../functions/messages.ts';
import { runErrands } from '../../functions/invocation.ts';
import type { Platform } from './function.ts';

interface Reader {
  readonly readHints: (raw: unknown) => Reading;
  readonly owns: (machine: MachineId) => boolean;
}

/** What every platform's handler comes down to, without the envelopes of any. */
export const plainPlatform = ({ readHints, owns }: Reader): Platform => ({
  foreign: ({ machine }) => (owns(machine) ? null : 'it is a machine of another place'),
  measured: () => ({}),
  handle: async ({ id, body }, wiring, limit) => {
    const delivery = deliveryOf(id, body, () => readHints(body));
    const outcomes = await runErrands(delivery.errands, { policy: wiring.policy, queued: true, vouched: null }, wiring, limit);
    return (await acknowledgeAll([delivery], outcomes, wiring)).length > 0;
  },
});
