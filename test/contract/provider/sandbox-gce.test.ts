import { nameReuseContract } from './name-reuse-contract.ts';
import { providerContract } from './provider-contract.ts';
import { sandboxGceBench } from './sandbox-gce-harness.ts';

providerContract("the sandbox's Compute Engine", () => sandboxGceBench());
nameReuseContract("the sandbox's Compute Engine", () => sandboxGceBench());
