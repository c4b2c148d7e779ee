import { CloudfenceError } from '../fencing/errors.ts';

export interface Check {
  readonly what: string;
  readonly ok: boolean;
  readonly says: string;
}

/** A check that could not be made has failed, and says why. */
export const checked = async (what: string, ask: () => Promise<readonly Check[]>): Promise<readonly Check[]> => {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CloudfenceError) return [{ what, ok: false, says: error.message }];
    throw error;
  }
};
