import { providerContract } from './provider-contract.ts';
import { territoriesHarness } from './territories-harness.ts';

providerContract('EC2 of another territory', territoriesHarness);
