import type { DoctorWiring } from '../wiring.ts';
import type { Expand } from './expand.ts';
import type { BusQueues } from './queues.ts';

export interface AzureWiring extends DoctorWiring {
  readonly queues: BusQueues;
  readonly expand: Expand;
  /** How long an invocation may go on (ms). */
  readonly lasts: number;
}

/** Made once for a process. */
export type Wired = () => Promise<Omit<AzureWiring, 'log'>>;
