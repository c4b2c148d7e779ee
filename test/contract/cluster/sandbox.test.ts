import { clusterContract } from './cluster-contract.ts';
import { openInProcess, openOverHttps } from './sandbox-harness.ts';

clusterContract('in the same process', openInProcess);
clusterContract('over HTTPS', openOverHttps);
