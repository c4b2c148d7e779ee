import { clusterContract } from '../../contract/cluster/cluster-contract.ts';
import { openWithKubeConfig, openWithToken } from './real-harness.ts';

clusterContract('that is real, by token', openWithToken);
clusterContract('that is real, by kubeconfig', openWithKubeConfig);
