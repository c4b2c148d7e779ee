import { providerContract } from './provider-contract.ts';
import { territoriesBench } from './territories-bench.ts';

providerContract('EC2 of another territory', territoriesBench);
