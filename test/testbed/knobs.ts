import { request } from 'undici';
import type { TestbedAccess } from './installation.ts';

/** What the CSI driver does with one volume from now on. */
export interface Knobs {
  /** Each detach fails with this message, without a call to EC2. */
  readonly failDetach?: string;
  readonly failAttach?: string;
  /** Each detach is reported as done, but does not happen. */
  readonly loseDetach?: boolean;
  /** Each call takes this much longer. */
  readonly delayMs?: number;
}

export const turn = async ({ shim }: TestbedAccess, disk: string, knobs: Knobs): Promise<void> => {
  const { statusCode } = await request(`${shim}/${disk}`, { method: 'PUT', body: JSON.stringify(knobs) });
  if (statusCode !== 204) throw new Error(`the driver answered with ${statusCode}`);
};
