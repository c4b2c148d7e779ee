import { subjectOf } from '../../providers/azure/events/subject.ts';
import type { Errand } from '../errand.ts';
import type { Expand } from './expand.ts';

/** Whose machines an install serves. */
export interface Served {
  readonly subscription: string | null;
  /** Names of resource groups; none stands for all that there are. */
  readonly groups: readonly string[];
}

type Told = Pick<Errand, 'machine' | 'account'>;

/** Why an errand is not ours, or null: an id names its subscription and its group itself. */
export const foreign = ({ machine, account }: Told, { subscription: served, groups }: Served): string | null => {
  const subject = subjectOf(machine);
  const told = subject?.subscription ?? account?.toLowerCase() ?? null;
  if (served === null || told !== served.toLowerCase()) return `the machine is of the subscription ${told ?? '(unknown)'}; this install serves ${served ?? 'none'}: install Cloudfence there as well (docs/azure.md, "Subscriptions")`;
  if (subject === null || groups.length === 0 || groups.some((group) => group.toLowerCase() === subject.group)) return null;
  return `the machine is of the resource group ${subject.group}; this install serves ${groups.join(', ')}: add it to resourceGroups if it is to be served (docs/azure.md, "Install")`;
};

const isServed = (machine: Told['machine'], served: Served): boolean => foreign({ machine, account: null }, served) === null;

/** A scale set that is not served is left as it is told: ARM would deny its list, and whoever runs the errand says why it is not ours. */
export const expandServed =
  (expand: Expand, served: Served): Expand =>
  async (named, signal) => {
    const ours = await expand(named.filter((machine) => isServed(machine, served)), signal);
    return [...ours, ...named.filter((machine) => !isServed(machine, served))];
  };
