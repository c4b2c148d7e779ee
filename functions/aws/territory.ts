import type { Errand } from './batch.ts';

/** The account and region whose machines this install looks after; null where the environment does not say. */
export interface Territory {
  readonly account: string | null;
  readonly region: string | null;
}

/** An account number; samples and documentation have words in its place. */
const ACCOUNT = /^\d{12}$/;

/**
 * Why an errand is not ours, or null. One install serves one region of one account: elsewhere the same id is not found,
 * and "not found" must never come near a proof.
 */
export const foreign = ({ account, region }: Pick<Errand, 'account' | 'region'>, own: Territory): string | null => {
  if (own.account !== null && account !== null && ACCOUNT.test(account) && account !== own.account) {
    return `the event is of account ${account}; this install serves ${own.account}`;
  }
  if (own.region !== null && region !== null && region !== own.region) return `the event is of region ${region}; this install serves ${own.region}`;
  return null;
};
