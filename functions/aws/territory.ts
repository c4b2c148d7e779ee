import type { Errand } from '../errand.ts';

/** An account and region whose machines this install looks after; null where the environment does not say. */
export interface Territory {
  readonly account: string | null;
  readonly region: string | null;
}

/** An account number; samples and documentation have words in its place. */
const ACCOUNT = /^\d{12}$/;

const agrees = (told: string | null, served: string | null): boolean => told === null || served === null || told === served;

const placeOf = ({ account, region }: Territory): string => `account ${account ?? '(unknown)'} in ${region ?? 'any region'}`;

/**
 * Why an errand is not ours, or null. An install serves its own region of its own account, and the territories that it is
 * configured with: elsewhere the same id is not found, and "not found" must never come near a proof.
 */
export const foreign = ({ account, region }: Pick<Errand, 'account' | 'region'>, territories: readonly Territory[]): string | null => {
  const told = account !== null && ACCOUNT.test(account) ? account : null;
  if (territories.some((served) => agrees(told, served.account) && agrees(region, served.region))) return null;
  const event = [told === null ? '' : ` of account ${told}`, region === null ? '' : ` of region ${region}`].join('');
  return `the event is${event}; this install serves ${territories.map(placeOf).join(', ')}. To serve it too, name it in \`territories\` with a role to assume (docs/aws.md, "Accounts and regions")`;
};
