import { instancePath } from '../../providers/gcp/paths.ts';
import type { Errand } from '../errand.ts';

/**
 * Why an errand is not ours, or null. An install serves its own project, and the projects that it is configured with; a
 * machine names its project itself, whoever brings word of it.
 */
export const foreign = ({ machine, account }: Pick<Errand, 'machine' | 'account'>, projects: readonly string[]): string | null => {
  const project = instancePath(machine)?.project ?? account;
  if (project !== null && projects.includes(project)) return null;
  return `the machine is of the project ${project ?? '(unknown)'}; this install serves ${projects.join(', ')}. To serve it too, name it in \`projects\` (docs/gcp.md, "Other projects")`;
};
