import { providerContract } from './provider-contract.ts';
import { sandboxEc2Harness } from './sandbox-ec2-harness.ts';

providerContract("the sandbox's EC2", sandboxEc2Harness);
