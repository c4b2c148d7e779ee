import type { InstancePath } from './paths.ts';

/**
 * Names under which the Node of an instance may be registered, likeliest first: GKE takes the instance's name, others its
 * host name, set by hand or one of the internal DNS names.
 * https://cloud.google.com/compute/docs/internal-dns
 */
export const nodeNamesOf = ({ project, zone, instance }: InstancePath, hostname: string): readonly string[] => {
  const names = [instance, hostname, `${instance}.${zone}.c.${project}.internal`, `${instance}.c.${project}.internal`];
  return [...new Set(names)].filter((name) => name !== '');
};
