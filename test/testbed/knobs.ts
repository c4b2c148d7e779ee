import { request } from 'undici';
import type { TestbedAccess } from './installation.ts';

/** What the CSI driver is to do with one volume from now on. */
export interface Knobs {
  /** Each detach fails with this message, without asking EC2. */
  readonly failDetach?: string;
  readonly failAttach?: string;
  /** Each detach is said to be done, and is not. */
  readonly loseDetach?: boolean;
  /** Each call takes so much longer. */
  readonly delayMs?: number;
}

export const turn = async ({ shim }: TestbedAccess, disk: string, knobs: Knobs): Promise<void> => {
  const { statusCode } = await request(`${shim}/${disk}`, { method: 'PUT', body: JSON.stringify(knobs) });
  if (statusCode !== 204) throw new Error(`the driver answered with ${statusCode}`);
};
