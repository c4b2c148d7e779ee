import { subjectOf } from '../../providers/azure/events/subject.ts';
import type { Errand } from '../errand.ts';

/** Why an errand is not ours, or null. An install serves its own subscription; an id names its subscription itself. */
export const foreign = ({ machine, account }: Pick<Errand, 'machine' | 'account'>, served: string | null): string | null => {
  const told = subjectOf(machine)?.subscription ?? account?.toLowerCase() ?? null;
  if (served !== null && told === served.toLowerCase()) return null;
  return `the machine is of the subscription ${told ?? '(unknown)'}; this install serves ${served ?? 'none'}: install Cloudfence there as well (docs/azure.md, "Subscriptions")`;
};
