import { prefix } from '../../sandbox/azure/azure-world.ts';
import { nameReuseContract } from './name-reuse-contract.ts';
import { providerContract } from './provider-contract.ts';
import { sandboxAzureHarness } from './sandbox-azure-harness.ts';

const machines = () => sandboxAzureHarness({}, `${prefix}/virtualmachines/nobody`);
const instances = () =>
  sandboxAzureHarness({ set: 'Pool' }, `${prefix}/virtualmachinescalesets/pool/virtualmachines/999`);

providerContract("the sandbox's Azure", machines);
providerContract("a scale set of the sandbox's Azure", instances);
nameReuseContract("the sandbox's Azure", machines);
