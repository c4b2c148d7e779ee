import { StopInstancesCommand } from '@aws-sdk/client-ec2';
import type { MachineId } from '../../fencing/machine.ts';
import type { Permit } from '../../fencing/permit.ts';
import type { Ec2Clients } from './client.ts';
import { translated } from './errors.ts';
import { AFTER_SIGNING, permitted } from './permitted.ts';

/**
 * Stops the machine whether or not its operating system goes along.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StopInstances.html
 *
 * @throws Unavailable, Denied, Refused, ProofExpired
 */
export const powerOff = (clients: Ec2Clients, machine: MachineId, permit: Permit, signal: AbortSignal): Promise<void> =>
  translated('ec2:StopInstances', async () => {
    const command = new StopInstancesCommand({ InstanceIds: [machine], Force: true });
    command.middlewareStack.add(permitted(permit), AFTER_SIGNING);
    await clients.writes.send(command, { abortSignal: signal });
  });
