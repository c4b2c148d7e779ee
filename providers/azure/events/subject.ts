import { flexibleMember, machinePath, setPath } from '../ids.ts';

/** What an event is about. A set stands for machines that only a question to Azure can name. */
export interface Subject {
  readonly kind: 'machine' | 'set';
  /** In the place of a machine's id; `expand` of the provider puts the machines in its place. */
  readonly id: string;
  readonly subscription: string;
  /** Of resources; in lower case, as the rest. */
  readonly group: string;
}

/** Null for what is neither a machine nor a scale set, such as a disk, or an extension of a machine. */
export const subjectOf = (resource: string): Subject | null => {
  const machine = machinePath(resource) ?? flexibleMember(resource);
  if (machine) return { kind: 'machine', id: machine.id, subscription: machine.subscription, group: machine.group };
  const set = setPath(resource);
  return set && { kind: 'set', id: set.id, subscription: set.subscription, group: set.group };
};
