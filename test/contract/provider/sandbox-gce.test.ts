import { nameReuseContract } from './name-reuse-contract.ts';
import { providerContract } from './provider-contract.ts';
import { sandboxGceHarness } from './sandbox-gce-harness.ts';

providerContract("the sandbox's Compute Engine", () => sandboxGceHarness());
nameReuseContract("the sandbox's Compute Engine", () => sandboxGceHarness());
