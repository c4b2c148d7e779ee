import type { FunctionDependencies } from '../../functions/dependencies.ts';

const nothing = (): never => {
  throw new Error('a simulation opens no access to clusters');
};

/** What only the doctor asks for. */
export const openingOf = ({ ports }: FunctionDependencies) => ({
  openedCloud: {
    cloud: ports.cloud,
    readHints: () => ({ hints: [], faults: [], ignored: [] }),
    viewDisks: async () => [],
    driverFaultOf: () => null,
    probes: [],
    access: { managedCluster: nothing, secret: nothing },
  },
  openClusters: [],
});
