import { motoBench } from './moto-bench.ts';
import { providerContract } from './provider-contract.ts';

providerContract('the moto server behind the strict proxy', motoBench);
