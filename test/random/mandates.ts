import type { MachineId } from '../../fencing/model/machine.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import type { Network } from './network.ts';
import type { Process } from './process.ts';

/** What an invocation may write. A process serves many invocations, and a call may take effect after its invocation. */

export interface Mandate {
  /** The machines about which its messages ask only for a dry run. `everything` if all its messages do. */
  readonly imagines: 'everything' | ReadonlySet<MachineId>;
  /** Whether its process runs in shadow mode. */
  readonly shadow: boolean;
}

const NOBODY: ReadonlySet<MachineId> = new Set();

/** Returns the machine of a message that asks for a dry run, or null. */
const imaginedBy = (body: string): MachineId | null => {
  const message = parseJsonOrNull(body);
  const asks = typeof message === 'object' && message !== null && 'dryRun' in message && message.dryRun === true;
  return asks && 'machine' in message && typeof message.machine === 'string' ? message.machine : null;
};

/** Returns the mandate of an invocation for these messages. One that has no messages is a sweep, or a person's. */
export const mandateFor = (bodies: readonly string[], shadow: boolean): Mandate => {
  const imagined = bodies.flatMap((body) => imaginedBy(body) ?? []);
  const real = bodies.filter((body) => imaginedBy(body) === null);
  if (imagined.length === 0) return { imagines: NOBODY, shadow };
  if (real.length === 0) return { imagines: 'everything', shadow };
  return { imagines: new Set(imagined.filter((machine) => !real.some((body) => body.includes(machine)))), shadow };
};

/** Returns whether the invocation must not write anything about this machine. Null if a write is about no machine. */
export const isImagined = ({ imagines }: Mandate, machine: MachineId | null): boolean =>
  imagines === 'everything' || (machine !== null && imagines.has(machine));

export interface Mandates {
  readonly begin: (process: Process, mandate: Mandate) => void;
  /** Returns the network in which each call has the mandate that its process had when it sent the call. */
  readonly noting: (network: Network) => Network;
  /** The mandate of the call that takes effect at this moment. */
  readonly acting: () => Mandate;
}

export const createMandates = (): Mandates => {
  const present = new WeakMap<Process, Mandate>();
  const none = mandateFor([], false);
  let acting = none;
  return {
    begin: (process, mandate) => void present.set(process, mandate),
    noting: ({ call: pass }) => ({
      call: (process, call) => {
        const sentWith = present.get(process) ?? none;
        const arrives: typeof call.arrives = (...how) => {
          acting = sentWith;
          return call.arrives(...how);
        };
        return pass(process, { ...call, arrives });
      },
    }),
    acting: () => acting,
  };
};
