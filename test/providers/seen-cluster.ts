import type { MachineId } from '../../fencing/model/machine.ts';
import type { SeenCluster } from '../../providers/stage.ts';

/** A cluster as `init` reads it, with one Node for each machine. */
export const seenCluster = ({
  machines = [],
  ...changed
}: Partial<SeenCluster> & { readonly machines?: readonly SeenMachine[] }): SeenCluster => ({
  name: 'blue',
  context: 'blue',
  kubeconfigCluster: 'blue',
  kubeconfigUser: 'me',
  host: 'api.example.org',
  programArgs: [],
  version: 'v1.33.1',
  nodes: machines.map(({ id, providerID, labels = {} }, at) => ({
    name: `node-${at}`,
    providerID,
    machine: id,
    labels,
  })),
  ...changed,
});

interface SeenMachine {
  readonly id: MachineId | null;
  readonly providerID: string | null;
  readonly labels?: Readonly<Record<string, string>>;
}
