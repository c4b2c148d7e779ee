import { motoHarness } from './moto-harness.ts';
import { providerContract } from './provider-contract.ts';

providerContract('the moto server behind the strict proxy', motoHarness);
